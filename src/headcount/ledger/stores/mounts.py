"""Whether a path is on a network file system, where SQLite's locks and shared memory do not hold.

Write-ahead logging needs memory that all writers share, which two machines do not have, and file
locks that are honoured, which network file systems often only say they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# fmt: off
NETWORK = frozenset(
    {
        "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs",
        "fuse.ceph", "fuse.davfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs",
        "fuse.goofys", "fuse.juicefs", "fuse.mfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
        "fuse.vmhgfs-fuse", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
        "ocfs2", "orangefs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs",
        "vmhgfs",
    }
)
# fmt: on
TABLE = Path("/proc/mounts")


def type_in(path: Path, table: str) -> str:
    """The type of the file system that holds ``path``, from a table of mounts."""
    best, kind = -1, ""
    for point, one in _mounts(table):
        # A later mount on the same point covers the earlier one.
        if (path == point or point in path.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), one
    return kind


def _mounts(table: str) -> Iterator[tuple[Path, str]]:
    """Where something is mounted, and the type of its file system."""
    for line in table.splitlines():
        fields = line.split()
        if len(fields) >= 3:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1])
            yield Path(point), fields[2]


def mounted_over_network(path: Path) -> str | None:
    """The type of the network file system that holds ``path``, where the system tells."""
    kind = file_system(path.resolve())
    return kind if kind in NETWORK else None


def is_mounted(path: Path) -> bool:
    """Whether something is mounted at this very path, where the system tells."""
    table = _table()
    return table is not None and any(path.resolve() == point for point, _ in _mounts(table))


def file_system(path: Path) -> str | None:
    """The type of the file system that holds a resolved path, where the system tells."""
    table = _table()
    return None if table is None else type_in(path, table)


def _table() -> str | None:
    try:
        return TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
