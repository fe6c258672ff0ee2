"""Where a server of the fleet finds what it needs: its environment, which others cannot list.

Addresses may hold a password, and words of a command are seen by everyone on a machine.
"""

from __future__ import annotations

import os

from headcount.errors import UsageError

FLEET, LEDGER = "HEADCOUNT_FLEET", "HEADCOUNT_LEDGER"
CORE, KEY = "HEADCOUNT_FLEET_CORE", "HEADCOUNT_FLEET_KEY"
MEANING = {
    FLEET: "the fleet's database on PostgreSQL, postgresql://user@host/database",
    LEDGER: "the ledger that pays",
    CORE: "the socket of the core",
    KEY: "the file of the owner's key",
}


def settings(*names: str) -> list[str]:
    """What the environment says of each of these, refused where it says nothing."""
    for name in names:
        if not os.environ.get(name):
            raise UsageError(f"Set {name}: {MEANING[name]}. Nothing was done.")
    return [os.environ[name] for name in names]


def with_settings(**more: str) -> dict[str, str]:
    """The environment of a program that is started from here, with these besides."""
    return {**os.environ, **more}
