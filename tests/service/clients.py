"""Programs that use a ledger, each in a process of its own, and a naive one to compare with.

Every process is forked from one that has imported everything and opened nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import psycopg  # noqa: F401  imported before any fork
import sqlalchemy as sa

from headcount.accounting.convert import RHO_UNIT
from headcount.errors import BudgetError, HeadcountError
from headcount.ledger import charging  # noqa: F401
from headcount.ledger.account import Charge
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores import postgres, sqlite  # noqa: F401
from headcount.privacy.budget import Budget
from headcount.privacy.event import GaussianNoise
from headcount.privacy.neighbours import Neighbours

FORK = multiprocessing.get_context("fork")
# One charge of this is a hundredth of rho 1, without a remainder.
ONE = GaussianNoise(Fraction(1), Fraction(50))
ONE_IN_UNITS = Fraction(1, 100) / RHO_UNIT
# What hangs is named before the runner's own limit ends everything.
MOST_SECONDS = 14_000 if os.environ.get("HEADCOUNT_LONG") else 600
HUNDRED = Budget(rho=1, delta=1e-6)
PLENTY = Budget(rho=1_000_000, delta=1e-6)


def charge(ledger: Ledger, key: str, request: str = "r", account: str = "web") -> Charge:
    return ledger.charge(
        ledger.opening(account),
        key=key,
        fresh=True,
        request_hash=request,
        verb="count_users",
        event=ONE,
        neighbours=Neighbours.ADD_REMOVE,
    )


def new_ledger(address: str, budget: Budget = HUNDRED) -> Ledger:
    book = Ledger(address)
    book.open_account("web", budget)
    return book


def other_process(address: str, heads: str | None = None) -> Callable[[str], str]:
    """A program that opens a ledger, checks it, closes it, or charges under a key, when told to."""
    ours, theirs = FORK.Pipe()

    def answer(ledger: Ledger, word: str) -> str:
        if word == "open":
            return word
        if word == "verify":
            return f"entry {ledger.verify().head.sequence}"
        return f"{charge(ledger, word).is_new}"

    def serve() -> None:
        ledger: Any = None
        ours.close()
        while True:
            try:
                word = theirs.recv()
            except EOFError:  # whoever asked is gone
                return
            try:
                if word == "close":
                    # As at the end of a program: connections end with the ledger.
                    ledger, said = None, word
                else:
                    ledger = ledger or Ledger(address, heads=heads)
                    said = answer(ledger, word)
            except HeadcountError as error:
                said = str(error)
            theirs.send(said)

    FORK.Process(target=serve, daemon=True).start()
    theirs.close()

    def ask(word: str) -> str:
        ours.send(word)
        return str(ours.recv())

    return ask


class Naive:
    """The control: read what is left, decide, write. Right for one process at a time."""

    def __init__(self, address: str) -> None:
        if "://" in address:
            url = address.replace("postgresql:", "postgresql+psycopg:")
            self.engine = sa.create_engine(url)
        else:
            self.engine = sa.create_engine(f"sqlite:///{address}", connect_args={"timeout": 60})

    def make(self, total: int) -> None:
        with self.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE budget (total bigint, spent bigint)")
            connection.exec_driver_sql("CREATE TABLE rows (key text)")
            connection.exec_driver_sql(f"INSERT INTO budget VALUES ({total}, 0)")

    def charge(self, key: str) -> bool:
        with self.engine.connect() as connection:
            total, spent = connection.exec_driver_sql("SELECT total, spent FROM budget").one()
        if spent + 1 > total:
            return False
        with self.engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE budget SET spent = {spent + 1}")
            connection.exec_driver_sql(f"INSERT INTO rows VALUES ('{key}')")
        return True

    def rows(self) -> int:
        with self.engine.connect() as connection:
            return int(connection.exec_driver_sql("SELECT count(*) FROM rows").scalar_one())


def wait_until(happened: Callable[[], bool], seconds: float = 300) -> None:
    """Tests wait for what happens, never for a time that a busy machine doesn't keep."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "what the test waits for did not happen"
        time.sleep(0.002)


def together(n: int, program: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Run a program in ``n`` processes that start at the same moment; return what each returns."""
    answers = FORK.SimpleQueue()
    gate = FORK.Barrier(n)

    def run(number: int) -> None:
        try:
            answers.put((True, program(number, gate.wait, *arguments)))
        except BaseException:
            answers.put((False, traceback.format_exc()))
        os._exit(0)

    processes = [FORK.Process(target=run, args=(number,)) for number in range(n)]
    for process in processes:
        process.start()
    got: list[tuple[bool, Any]] = []

    def all_ended() -> bool:
        ended = all(process.exitcode is not None for process in processes)
        while not answers.empty():
            got.append(answers.get())
        return ended

    try:
        wait_until(all_ended, MOST_SECONDS)
    finally:
        for process in processes:
            process.kill()
            process.join()
    assert len(got) == n, f"{n - len(got)} ended without an answer"
    for good, answer in got:
        assert good, answer
    return [answer for _, answer in got]


Taker = Callable[[str, str], bool]


def carefully(address: str) -> Taker:
    ledger = Ledger(address)

    def take(account: str, key: str) -> bool:
        try:
            return charge(ledger, key, account=account).is_new
        except BudgetError:
            return False

    return take


def naively(address: str) -> Taker:
    ledger = Naive(address)
    return lambda _account, key: ledger.charge(key)


def racer(
    number: int,
    ready: Callable[[], object],
    ledger: Callable[[str], Taker],
    address: str,
    accounts: Sequence[str],
    tries: int,
) -> list[int]:
    """In each account, try to charge under new keys; return how many succeeded in each."""
    take = ledger(address)
    won = []
    for account in accounts:
        ready()
        won.append(sum(take(account, f"{number}-{attempt}") for attempt in range(tries)))
    return won


def forked(program: Callable[..., None], *arguments: Any) -> int:
    """Start a program in a child process and return its id."""
    child = os.fork()
    if child == 0:
        try:
            program(*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def kill_all(children: Sequence[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
