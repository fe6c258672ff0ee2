"""``headcount fleet``: ask devices, and show what enough of them answer."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headcount.cli import fleet_allowed, fleet_serve, fleet_setup, fleet_simulate
from headcount.cli import fleet_places as place
from headcount.cli import options as option
from headcount.cli.ledger import there
from headcount.errors import NoAccountError, UsageError
from headcount.screens import as_word, quoted, visible

if TYPE_CHECKING:
    from headcount.fleet.control_store import Applied, ControlStore
    from headcount.fleet.control_views import RoundShown
    from headcount.fleet.task_file import TaskFile
    from headcount.ledger.account import Account
    from headcount.ledger.ledger import Ledger

app = typer.Typer(
    help="Devices: ask them, and show what enough of them answer.", no_args_is_help=True
)
TASK_FILE = typer.Argument(help="The task file, in YAML.")
A_TASK = typer.Argument(help="A task's name, or the first letters of its id.")
SHORT = 12
"""Letters of an id, where it is one of several."""


@app.callback()
def top() -> None:
    """Ask devices, and show what enough of them answer."""


@app.command()
def plan(
    task: Path = TASK_FILE,
    account: str | None = typer.Option(
        None, help="Plan with this account instead of the one that the file names."
    ),
    devices: int = typer.Option(1_000_000, help="Add up uploads of so many devices.", min=1),
    ledger: str | None = place.LEDGER,
) -> None:
    """Say what a task asks of devices, shows and costs. Nothing is charged."""
    place.needs_fleet()
    from headcount.fleet.door import paid_before
    from headcount.fleet.plan import mechanism_of, planned
    from headcount.fleet.plan_words import plan_lines
    from headcount.fleet.task_file import read_file
    from headcount.releases.facts import check_affordable

    file = read_file(task)
    if account is not None:
        file = replace(file, account=account)
    book = there(ledger)
    payer = _payer(book, file)
    found = planned(file, payer, datetime.now(UTC).date())
    paid = paid_before(book, payer.name, found)
    if paid is None:
        mechanism = mechanism_of(found)
        check_affordable(payer, mechanism.event, mechanism.neighbours)
    for name, said in plan_lines(found, payer, devices):
        print(f"{name:<10} {visible(said)}")
    if paid is not None:
        print(f"{'paid':<10} {paid.named} paid for it: to apply it again is not charged")
    print("Nothing was charged.")


def _payer(book: Ledger, file: TaskFile) -> Account:
    found = book.find_account(file.account)
    if found is None:
        raise NoAccountError(
            f"There is no account {quoted(file.account)} in the ledger {book.address!r}, and what "
            "a task may show follows from what its account may spend. Say what may ever be spent "
            f"on these devices: headcount ledger open {as_word(file.account)} --budget 3 "
            f"--neighbours replace --covers {shlex.quote(f'fleet:{file.population}')}. Nothing was "
            "charged."
        )
    return found


@app.command()
def apply(
    task: Path = TASK_FILE,
    database: str | None = place.DATABASE,
    ledger: str | None = place.LEDGER,
) -> None:
    """Charge a task for all of its rounds, and let devices hear of it. Again is not charged."""
    place.needs_fleet()
    from headcount.fleet.door import Door, paid_before
    from headcount.fleet.plan import planned
    from headcount.fleet.task_file import read_file

    file = read_file(task)
    store, book = place.store_of(database), there(ledger)
    payer = _payer(book, file)
    before = paid_before(book, payer.name, planned(file, payer, _day(store.now())))
    made = Door(store, book).apply(file)
    known = store.applied(made.id)
    entry = 0 if known is None else known.entry
    paid = f"entry {entry} of account {visible(repr(payer.name))}"
    if before is None:
        print(f"Charged {paid}, for all {file.rounds.n:,} rounds of {file.task}.")
    else:
        print(f"Paid for by {paid} before. Nothing was charged.")
    print(f"task {made.id.hex()}")
    print(f"Its rounds: headcount fleet rounds {as_word(file.task)}")


@app.command()
def rounds(
    task: str | None = typer.Argument(
        None, help="A task's name, or the first letters of its id. Default: all tasks."
    ),
    delay: int = place.DELAY,
    database: str | None = place.DATABASE,
) -> None:
    """Show the rounds of tasks: their state and times, by the clock."""
    from headcount.fleet.control import Control

    store = place.store_of(database)
    found = store.tasks() if task is None else _matching(store, task)
    if not found:
        print("No task was applied so far: headcount fleet apply task.yaml")
    for one in found:
        name = f"{one.task.file.task} {one.task.id.hex()[:SHORT]}"
        print(f"{name}, paid for by entry {one.entry} of account {visible(repr(one.account))}")
        print(f"  {'round':>5}  {'state':<9}  {'opens':<20}  {'closes':<20}  shown from")
        for each in Control(store, "", delay).rounds(one):
            times = (_time(at) for at in (each.opens_at, each.closes_at, each.shown_at))
            print(f"  {each.number:>5}  {each.state:<9}  {'  '.join(times)}")


@app.command()
def release(
    task: str = A_TASK,
    number: int = typer.Argument(help="The round: 0 for the first.", min=0),
    out: option.Out = None,
    plot: option.Plot = None,
    report: option.Report = None,
    json: option.Json = False,
    csv: option.AsCsv = False,
    quiet: option.Quiet = False,
    delay: int = place.DELAY,
    database: str | None = place.DATABASE,
    ledger: str | None = place.LEDGER,
) -> None:
    """Show what a round of a task shows, from its time on. Nothing is charged."""
    from headcount.cli.output import Output, files_of_ledger
    from headcount.cli.show import write_and_show

    output = Output.asked(out, plot, report, as_json=json, as_csv=csv, quiet=quiet)
    store = place.store_of(database)
    from headcount.fleet.control import Control
    from headcount.fleet.door import key_of
    from headcount.releases.stored import stored_release

    book = there(ledger)
    output.check(files_of_ledger(ledger))
    one = _only(store, task)
    n = one.task.file.rounds.n
    if number >= n:
        raise UsageError(
            f"The task {one.task.file.task!r} has rounds 0 to {n - 1}, and no {number}. Nothing "
            "was charged."
        )
    _refuse_unless_shown(Control(store, "", delay).round(one, number))
    found = stored_release(book, key_of(one.task), one.account, number)
    write_and_show(found, output, found.facts.notes, "The same command shows them again.")


app.add_typer(fleet_serve.serve, name="serve")
app.command()(fleet_serve.relay)
app.command()(fleet_serve.core)
app.command()(fleet_serve.aggregate)
app.command()(fleet_simulate.simulate)
app.command()(fleet_setup.prepare)
app.command()(fleet_setup.key)
app.add_typer(fleet_setup.token, name="token")
app.command()(fleet_setup.senders)
app.command()(fleet_allowed.allow)
app.command()(fleet_allowed.withdraw)
app.command()(fleet_allowed.allowed)


def _refuse_unless_shown(one: RoundShown) -> None:
    if one.state == "released":
        return
    if one.state == "cancelled":
        raise UsageError(
            f"Round {one.number} was called off: nobody can count it any more. What was charged "
            "stays charged."
        )
    raise UsageError(
        f"Round {one.number} is {one.state}. It is shown from {_time(one.shown_at)} on, and later "
        "only if nobody counted it by then: headcount fleet aggregate counts. Nothing was charged."
    )


def _matching(store: ControlStore, said: str) -> list[Applied]:
    """The tasks of this name, or whose ids begin so."""
    known = store.tasks()
    named = [one for one in known if one.task.file.task == said]
    found = named or [one for one in known if said and one.task.id.hex().startswith(said)]
    if not found:
        raise UsageError(
            f"No task is called {quoted(said)}, and no id begins so. See them: headcount fleet "
            "rounds. Nothing was charged."
        )
    return found


def _only(store: ControlStore, said: str) -> Applied:
    found = _matching(store, said)
    if len(found) > 1:
        ids = ", ".join(
            f"{one.task.id.hex()[:SHORT]} (until {one.task.file.expires})" for one in found
        )
        raise UsageError(
            f"Several tasks are called {quoted(said)}: {ids}. Give the letters of one of them. "
            "Nothing was charged."
        )
    return found[0]


def _day(seconds: int) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
