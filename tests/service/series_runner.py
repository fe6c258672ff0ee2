"""Starts ``headcount run`` in processes that are forked from one that imported everything.

A line of JSON on standard input starts one, waits for one, or ends. A run may be told to be killed
by itself at the n-th step that it takes: at what lies between two steps, a crash leaves its marks.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from headcount.cli import main
from headcount.ledger.ledger import Ledger

STEPS: tuple[tuple[Any, str, str, str], ...] = (
    (Ledger, "charge", "before", "charged"),
    (Ledger, "store_result", "drawn", "stored"),
    (os, "replace", "written", "renamed"),
)


def stop_at(step: int, told: Path) -> None:
    """Let this process be killed at the step of this number."""
    left = [step]

    def at(name: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            told.write_text(name)
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(real: Callable[..., Any], before: str, after: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            at(before)
            found = real(*given, **named)
            at(after)
            return found

        return call

    for owner, name, before, after in STEPS:
        setattr(owner, name, watched(getattr(owner, name), before, after))


def child(asked: dict[str, Any]) -> None:
    said = os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    if asked["step"]:
        stop_at(asked["step"], Path(asked["told"]))
    if asked["full"]:
        full(asked["full"])
    if asked["written_over"]:
        write_over(Path(asked["written_over"]))
    sys.argv = ["headcount", *asked["command"]]
    main.main()


def full(folder: str) -> None:
    """Let no file of a folder be renamed into its place: the disk is full by then."""
    real = os.replace

    def replace(source: Any, target: Any) -> None:
        if str(target).startswith(folder):
            raise OSError(28, "No space left on device")
        real(source, target)

    os.replace = replace  # type: ignore[assignment]


def write_over(file: Path) -> None:
    """Let a file of the source be written anew once something was charged."""
    real, left = Ledger.charge, [1]

    def charge(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        if left:
            left.clear()
            file.with_suffix(".new").write_bytes(file.read_bytes())
            file.with_suffix(".new").rename(file)
        return found

    Ledger.charge = charge  # type: ignore[method-assign]


def import_all(names: str) -> None:
    """Import what an earlier run had come to need, so that runs begin at once."""
    for name in names.split():
        with suppress(ImportError):
            import_module(name)


def answer(asked: dict[str, Any]) -> int:
    if "imports" in asked:
        import_all(Path(asked["imports"]).read_text())
        return 0
    if "wait" in asked:
        _, status = os.waitpid(asked["wait"], 0)
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        child(asked)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        Path(f"{asked['said']}-imports").write_text("\n".join(sys.modules))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for line in sys.stdin:
        print(answer(json.loads(line)), flush=True)
