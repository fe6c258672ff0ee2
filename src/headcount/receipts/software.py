"""Which headcount this is: its version, and a hash of the files that are installed.

The hash is over lines of a wheel's RECORD, those of files in ``headcount/`` that have a hash there,
sorted, each as the file is now: whoever has the wheel can work it out from the wheel alone.
"""

from __future__ import annotations

import base64
import csv
import hashlib
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from headcount.version import __version__

WHEEL, CHANGED = "a wheel", "a wheel, with files that were changed since"
SOURCE_TREE = "a source tree"
PACKAGE = "headcount/"
HERE = Path(__file__).parents[2]
"""The folder that the package is in."""


@lru_cache(maxsize=1)
def installed() -> dict[str, str]:
    """Version, where it is from, and the hash of its files; no hash from a source tree."""
    lines = _recorded()
    if not lines:
        return {"signed": __version__, "from": SOURCE_TREE, "files": ""}
    now = [_line(line.split(",sha256=")[0]) for line in lines]
    text = "".join(f"{line}\n" for line in sorted(now))
    return {
        "signed": __version__,
        "from": WHEEL if now == lines else CHANGED,
        "files": hashlib.sha256(text.encode()).hexdigest(),
    }


def _recorded() -> list[str]:
    """The lines of RECORD for this package, where it was installed from a wheel."""
    try:
        text = distribution("headcount").read_text("RECORD") or ""
    except PackageNotFoundError:
        return []
    rows = [row for row in csv.reader(text.splitlines()) if len(row) == 3]
    found = [
        f"{name},{digest},{size}"
        for name, digest, size in rows
        if name.startswith(PACKAGE) and digest.startswith("sha256=")
    ]
    is_here = any(
        name.endswith(".dist-info/RECORD") and (HERE / name).is_file() for name, _, _ in rows
    )
    return found if is_here else []


def _line(name: str) -> str:
    try:
        content = (HERE / name).read_bytes()
    except OSError:
        return f"{name},gone,0"
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"
