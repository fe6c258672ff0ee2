"""Files that a release is written to: checked before the charge, whole or not there at all.

A file is written to a draft beside it and renamed, so that a failing write leaves neither half a
file nor a damaged old one.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headcount.errors import MissingExtraError, OutputError, UsageError
from headcount.privacy.argument import NOTHING, is_text, refused
from headcount.screens import quoted

ROWS = (".parquet", ".csv")
PICTURES = (".svg", ".png", ".html")
PAGES = (".html",)
BESIDE = "-metadata.json"
"""After the name of a CSV file: where the facts of it are, as CSV on the Web has it."""
SPARE_BYTES = 1 << 16
REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EROFS: "it is on a disk that cannot be written to",
    errno.EACCES: "there is no permission to write there",
    errno.EPERM: "there is no permission to write there",
    errno.ENOENT: "its folder is not there",
    errno.ENAMETOOLONG: "its name is too long",
    errno.EFBIG: "it is larger than a file may be",
}


def check_output(
    path: Any,
    endings: Sequence[str],
    *,
    name: str = "path",
    avoid: Iterable[str | Path] = (),
    n_bytes: int = 0,
) -> Path:
    """Where a file may be written, or a refusal that says what is wrong with the place.

    endings:  what its name may end in; none where any name will do
    avoid:    files that it must not be, by whatever name: the source, the ledger
    n_bytes:  about how large it will be, where that is public
    """
    instead = f"a file such as 'counts{endings[0] if endings else '.txt'}'"
    if not isinstance(path, str | Path) or not is_text(str(path)) or not str(path):
        raise refused(name, "the path of a file", path, instead)
    where = Path(path)
    if endings and where.suffix.lower() not in endings:
        if where.name:
            instead = quoted(where.with_suffix(endings[-1] if endings == ROWS else endings[0]))
        raise refused(name, f"a file that ends in {' or '.join(endings)}", path, instead)
    if where.suffix.lower() in PICTURES and endings == PICTURES:
        require_plots()
    try:
        real = where.resolve()
        _check_place(real, name, path)
        _check_not(real, where, avoid, name)
        # Only an attempt tells: permissions, read-only disks and quotas are all found this way.
        os.unlink(_draft(real))
        free = shutil.disk_usage(real.parent).free
    except UsageError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(
            f"{name} {quoted(path)} cannot be written: {reason(error)}. Choose another place. "
            f"{NOTHING}"
        ) from None
    if free < n_bytes + SPARE_BYTES:
        raise UsageError(
            f"The result has up to {n_bytes:,} bytes, and the disk of {quoted(path)} has {free:,} "
            f"left. Choose another place. {NOTHING}"
        )
    if endings == ROWS and where.suffix.lower() == ".csv":
        check_beside(check_output(f"{where}{BESIDE}", (), name=name, avoid=avoid), name)
    return where


def check_beside(beside: Path, name: str = "path") -> None:
    """Where the facts of a CSV file go: those of an earlier release may be written over."""
    if not beside.exists():
        return
    with suppress(OSError, ValueError), beside.open("rb") as file:
        if file.read(64).split()[1:3] == [b'"error', b'bars":']:
            return
    raise UsageError(
        f"{name}: {quoted(beside)} is where the facts of a CSV file go, and there is a file that "
        f"headcount did not write. Move it, or choose another name. {NOTHING}"
    )


def remove(path: Path) -> None:
    """Take a file of an earlier release away, if there is one."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{quoted(path)} could not be removed: {reason(error)}.") from None


def _check_place(real: Path, name: str, path: Any) -> None:
    if not real.parent.is_dir():
        raise UsageError(
            f"{name} {quoted(path)} is in a folder that does not exist. Make the folder first, or "
            f"choose another place. {NOTHING}"
        )
    if real.exists() and not stat.S_ISREG(real.stat().st_mode):
        what = "a folder" if real.is_dir() else "no ordinary file"
        raise UsageError(f"{name} {quoted(path)} is {what}. Choose another name. {NOTHING}")


def _check_not(real: Path, where: Path, avoid: Iterable[str | Path], name: str) -> None:
    for other in map(Path, avoid):
        same = real == other.resolve() or (
            real.exists() and other.exists() and os.path.samefile(real, other)
        )
        if same:
            raise UsageError(
                f"{name} {quoted(where)} is the same file as {quoted(other)}, which is read or "
                f"kept by this command and would be overwritten. Choose another name. {NOTHING}"
            )


def require_plots() -> None:
    """Refuse to draw where the libraries for it are not installed."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError:
        raise MissingExtraError("plots", "A chart") from None


def write_whole(path: Path, write: Callable[[Path], None]) -> Path:
    """Write to a draft beside the file, then rename it: whole, or not at all."""
    draft = None
    try:
        real = path.resolve()
        draft = _draft(real)
        write(draft)
        _flush(draft)
        os.chmod(draft, _mode(real))
        os.replace(draft, real)
    except OSError as error:
        _remove(draft)
        raise OutputError(f"{quoted(path)} could not be written: {reason(error)}.") from None
    except BaseException:
        _remove(draft)
        raise
    return path


def reason(error: BaseException) -> str:
    """Why the system did not write, in a few words."""
    number = getattr(error, "errno", None)
    return REASONS.get(number or 0, "the system does not allow it")


def _draft(real: Path) -> Path:
    handle, name = tempfile.mkstemp(suffix=real.suffix, prefix=".headcount-", dir=real.parent)
    os.close(handle)
    return Path(name)


def _mode(real: Path) -> int:
    """The mode of the file that is replaced, or what a new file of this process has."""
    if real.exists():
        return stat.S_IMODE(real.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _flush(draft: Path) -> None:
    with draft.open("rb+") as file:
        os.fsync(file.fileno())


def _remove(draft: Path | None) -> None:
    if draft is not None:
        with suppress(OSError):
            draft.unlink()
