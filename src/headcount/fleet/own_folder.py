"""A folder that is its user's alone: keys of rounds, and what a device keeps."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from headcount.errors import UsageError


def own_folder(folder: str | Path, what: str) -> Path:
    """The folder, made if there is none; refused where others could read it.

    what: whose it is, as the refusal says it
    """
    place = Path(folder)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = place.stat()
    if stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid != os.geteuid():
        raise UsageError(
            f"The folder of {what} must be its user's alone. Run: chmod 700, on a folder that "
            "this user owns and that no backup has. Nothing was sent."
        )
    return place
