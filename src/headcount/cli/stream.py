"""``headcount stream``: count events in a file that shows no single event, even if stolen."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from headcount.cli import options as option
from headcount.errors import UsageError
from headcount.releases.arguments import groups_in
from headcount.screens import visible

app = typer.Typer(
    help="Count events as they come, in a file that shows no single event, even if it is stolen.",
    no_args_is_help=True,
)

STOPS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
State = Annotated[Path, typer.Argument(help="The file of the stream.")]
Confidence = Annotated[float, typer.Option(help="How sure the error bars are, such as 0.95.")]


@app.callback()
def top() -> None:
    """Count events as they come, in a file that shows no single event, even if it is stolen."""


@app.command()
def new(
    state: State,
    groups: Annotated[
        Path | None,
        typer.Option(help="A text file of public groups, one per line; empty lines are skipped."),
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="Instead of groups: hash all values into this many counters.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The epsilon that is promised to each event.")
    ] = None,
    neighbours: Annotated[str, typer.Option(help="add-remove or replace.")] = "add-remove",
    like: Annotated[
        Path | None,
        typer.Option(help="Instead of all these: take them from the file of another stream."),
    ] = None,
) -> None:
    """Make a state: terms and empty counters. Noise is drawn before the first event."""
    from headcount.mechanisms.chance import Drawn
    from headcount.results.output import check_output
    from headcount.streams.file import read_terms
    from headcount.streams.promise import text
    from headcount.streams.stream import new_file
    from headcount.streams.terms import new_terms

    check_output(state, (), name="STATE")
    if like is not None:
        if groups is not None or buckets is not None or epsilon is not None:
            raise UsageError(
                "--like takes all terms from the other state: give nothing else. Nothing was made."
            )
        terms = read_terms(like).like()
    elif epsilon is None:
        raise UsageError("A stream needs --epsilon, such as --epsilon 1.")
    else:
        listed = None if groups is None else groups_in(groups)
        terms = new_terms(listed, buckets, epsilon, neighbours)
    new_file(terms, state, Drawn()).let_go()
    print(text(terms))


@app.command()
def add(
    state: State,
    json: Annotated[
        str | None, typer.Option(help="Lines are JSON objects; count this field.")
    ] = None,
    flush_every: Annotated[
        float | None,
        typer.Option(
            help="Also write the file every this many seconds, at one draw of noise each time."
        ),
    ] = None,
) -> None:
    """Count the lines of the standard input until it ends; the state is written then."""
    from headcount.streams.arguments import checked
    from headcount.streams.lines import add_lines
    from headcount.streams.stream import Stream

    _no_core_dumps()
    checked("add", field=json, flush_every=flush_every)
    before = {number: signal.getsignal(number) for number in STOPS}
    heeded = [number for number in STOPS if before[number] is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, _stop)
    try:
        with Stream.load(state) as stream:
            try:
                add_lines(stream, sys.stdin.fileno(), field=json, flush_every=flush_every)
            finally:
                for number in heeded:  # what was counted is written now: another signal waits
                    signal.signal(number, signal.SIG_IGN)
    finally:
        for number in heeded:
            signal.signal(number, before[number])


def _stop(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _no_core_dumps() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@app.command()
def describe(state: State) -> None:
    """Say what is promised for a state, and what is not."""
    from headcount.streams.file import read_terms
    from headcount.streams.promise import text

    print(text(read_terms(state)))


@app.command()
def snapshot(
    state: State, copy: Annotated[Path, typer.Argument(help="Where the copy goes.")]
) -> None:
    """Copy a state, in one step; the state gets one more draw of noise."""
    from headcount.results.output import check_output
    from headcount.streams.stream import Stream

    check_output(copy, (), name="COPY", avoid=[state])
    with Stream.at_rest(state) as stream:
        print(f"Wrote {visible(str(stream.snapshot(copy)))}")


@app.command()
def reseal(state: State) -> None:
    """Add fresh noise after an intrusion that you know of."""
    from headcount.streams.stream import Stream

    with Stream.at_rest(state) as stream:
        stream.reseal()
        print(stream)


@app.command()
def merge(
    state: State,
    parts: Annotated[list[Path], typer.Argument(help="The files to add to the first one.")],
) -> None:
    """Add other states of the same terms to a state; their noise comes along, and one draw."""
    from headcount.streams.stream import Stream

    with Stream.at_rest(state) as stream:
        stream.merge(*parts)
        print(stream)


@app.command()
def finish(
    state: State,
    confidence: Confidence = 0.95,
    method: Annotated[
        str, typer.Option(help="How frequencies are fitted: npmle, l1 or l2.")
    ] = "npmle",
    events: Annotated[
        int | None, typer.Option(help="How many events there were, if that is public.")
    ] = None,
    out: option.Out = None,
    plot: option.Plot = None,
    report: option.Report = None,
) -> None:
    """Take the output, once. Asked again, the same one is shown: nothing is drawn twice."""
    from headcount.cli.output import Output
    from headcount.cli.show import write_and_show
    from headcount.streams.stream import Stream

    output = Output(out, plot, report)
    output.check([state])
    with Stream.at_rest(state) as stream:
        # What was drawn is in the file: asking again after a crash is reading, not drawing.
        take = stream.output if stream.terms.is_finished else stream.finish
        taken = take(confidence=confidence, method=method, n_events=events)
        again = "What was drawn is in the state: the same command shows it again."
        write_and_show(taken, output, taken.facts.notes, again)
