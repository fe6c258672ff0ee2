"""Programs that release and show, one fork each, so that a test can kill them at any moment.

Reads ``key order`` lines; for each forks a child that prints ``pid stage`` lines as it goes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import headcount as hc
from headcount.ledger.account import Charge
from headcount.ledger.ledger import Ledger


def events() -> pa.Table:
    return pa.table({"user": list(range(2000)), "group": [str(i % 3) for i in range(2000)]})


def say(stage: str) -> None:
    os.write(1, f"{os.getpid()} {stage}\n".encode())


def show(folder: Path, key: str, payload: bytes) -> None:
    """All at once: a kill while writing shows nothing."""
    draft = folder / f"draft-{key}"
    draft.write_bytes(payload)
    draft.rename(folder / "shown" / key)


def release_and_show(folder: Path, key: str) -> None:
    """A user's program: showing is putting a file where the world can see it."""
    data = hc.open(events(), user="user", account="crash", ledger=folder / "ledger.db")
    plan = data.count_users(by="group", spend=hc.Budget(epsilon="0.1"))
    release = plan.release(key=key, progress=say)
    show(folder, key, release.to_bytes())
    say("shown")
    time.sleep(0.05)  # so that some kills come after everything is done


def charge_only_after_showing(folder: Path, key: str) -> None:
    """The broken order, as a control: the rows leave, and the charge is committed later."""
    original_charge, original_store = Ledger.charge, Ledger.store_result
    held: dict[str, object] = {}

    def charge(_self: Ledger, account: str, **arguments: object) -> Charge:
        held.update(arguments, account=account)
        return Charge(0, True, None)

    def store(self: Ledger, _sequence: int, payload: bytes) -> bytes:
        show(folder, key, payload)
        time.sleep(0.02)
        made = original_charge(self, **held)  # type: ignore[arg-type]
        return original_store(self, made.sequence, payload)

    Ledger.charge, Ledger.store_result = charge, store  # type: ignore[method-assign, assignment]


def load_what_a_release_loads() -> None:
    """Import once, before the forks; an engine itself must never be forked."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        with tempfile.TemporaryDirectory() as place:
            budget = hc.Budget(epsilon=1)
            data = hc.open(
                events(), user="user", account="x", budget=budget, ledger=f"{place}/l.db"
            )
            data.count_users(by="group", spend="1").release()
        os.write(writer, "\n".join(list(sys.modules)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        for name in lines.read().split():
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    os.wait()


def main() -> None:
    folder = Path(sys.argv[1])
    load_what_a_release_loads()
    print("ready", flush=True)
    for line in sys.stdin:
        key, order = line.split()
        child = os.fork()
        if child == 0:
            if order == "charge-last":
                charge_only_after_showing(folder, key)
            release_and_show(folder, key)
            os._exit(0)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
