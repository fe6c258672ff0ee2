"""Where a ledger's file must not be: where its log is not beside it for all who open it.

SQLite finds the log by the name that the file was opened under. Under a second name the same file
is another ledger, without what is in the log and with a budget that is whole.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from headcount.errors import LedgerError
from headcount.ledger.stores.mounts import is_mounted, mounted_over_network

if TYPE_CHECKING:
    from headcount.ledger.address import Address


def check_place(address: Address) -> None:
    """Refuse a file on a network, one with a second name, and one that is mounted by itself."""
    over = mounted_over_network(address.path)
    if over is not None:
        raise LedgerError(
            f"The ledger {str(address)!r} is on a network file system ({over}), where SQLite "
            "cannot keep two writers apart. Nothing was charged. Put it on a local disk, or "
            "share a budget through PostgreSQL: ledger='postgresql://host/database'."
        )
    if is_mounted(address.path):
        raise LedgerError(
            f"The ledger {str(address)!r} is mounted here as a single file. Its log is beside it "
            "under its own name, where others write to it, and not under this one. Nothing was "
            "charged. Mount the folder that it is in."
        )
    try:
        found = address.path.stat()
    except OSError:
        return
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise LedgerError(
            f"The file of the ledger {str(address)!r} has a second name (a hard link). Opened by "
            "that, it would be another ledger, with a budget that is whole. Nothing was charged. "
            "Remove the other name; to have a copy, copy it: headcount ledger export."
        )
