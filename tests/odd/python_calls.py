"""Random calls from Python: most arguments as they should be, one or two that are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.odd.values import odd

import headcount as hc
from headcount.contributions.values import PER_USER
from headcount.privacy.during import Window
from headcount.releases.verbs import STATED

GOOD: dict[str, list[Any]] = {
    "by": ["group", ["group"], ["group", hc.bins("x", 10)], hc.bins("x", "0.5")],
    "groups": [None, None, ["g1", "g2"], ["g1", "nobody"]],
    "bound": [None, None, 1, 3],
    "within": [None, None, 0.1, 0.4],
    "top": [None, None, 1, 3],
    "debias": [False],
    "users": [None, 100],
    "samples": [None, 5],
    "of": ["x", "f", None],
    "at": [0.5, [0.1, 0.9]],
    "bounds": [(0, 50), (0.5, 3.25)],
    "step": [None, 1],
    "per_user": list(PER_USER),
    "ranges": [[0, 10, 100], [(0, 10), (5, None)]],
    "at_most": [None, 10],
    "buckets": [None, 100],
    "query": [
        'SELECT "group", COUNT(*) FROM events GROUP BY 1',
        'SELECT "group", COUNT(DISTINCT "user") FROM events WHERE x > 3 GROUP BY "group"',
        "SELECT COUNT(DISTINCT user) FROM events",
        "SELECT x FROM events",
    ],
}
ARGUMENTS = {name: [*verb.own, "spend"] for name, verb in STATED.items()}
SPENDS = [hc.Budget(rho=1, delta="1e-7"), hc.Budget(epsilon=1, delta="1e-7"), "1/1000000"]


def is_slow(arguments: dict[str, Any]) -> bool:
    """Whether its plan takes minutes: a sample at a spend far from any that makes sense."""
    method, spend = arguments.get("method"), arguments.get("spend")
    sampled = isinstance(method, str) and "sample" in method
    return sampled and isinstance(spend, hc.Budget) and spend not in SPENDS


def some_verb(chooser: random.Random) -> tuple[str, dict[str, Any]]:
    """A verb and its arguments."""
    verb = chooser.choice(list(ARGUMENTS))
    wrong = set(
        chooser.sample(ARGUMENTS[verb], min(len(ARGUMENTS[verb]), chooser.choice([0, 1, 1, 2])))
    )
    arguments = {}
    for name in ARGUMENTS[verb]:
        if name in wrong:
            arguments[name] = odd(chooser)
        elif name == "method":
            arguments[name] = chooser.choice(
                ["auto", "auto", chooser.choice(STATED[verb].own[name].words)]
            )
        elif name == "spend":
            arguments[name] = chooser.choice(SPENDS)
        else:
            arguments[name] = chooser.choice(GOOD[name])
    return verb, arguments


def some_opening(chooser: random.Random, table: Any, ledger: Any) -> Callable[[], Any]:
    """A way to open a table, with one or two arguments that make no sense."""
    said: dict[str, Any] = {
        "user": "user", "budget": hc.Budget(rho=10), "ledger": ledger, "account": "web",
        "where": None, "neighbours": "add-remove", "csv": None, "types": None, "memory": None,
        "scratch": None,
        "trusted_view": None,
        "mistaken_users": (), "window": None, "lifetime": None,
    }  # fmt: skip
    source = odd(chooser) if chooser.random() < 0.2 else table
    for name in chooser.sample([name for name in said if name != "ledger"], chooser.choice([1, 2])):
        said[name] = odd(chooser)
    if chooser.random() < 0.1:
        said["ledger"] = odd(chooser)
    if isinstance(said["ledger"], str | Path):
        said["ledger"] = ledger  # a ledger of its own would be a file beside the tests
    return lambda: hc.open(source, **said)


def some_word(chooser: random.Random) -> Callable[[], Any]:
    """One of the small things: a budget, a cut, a dialect, a public table."""
    name = chooser.choice(["epsilon", "rho"])
    first, second, third = odd(chooser), odd(chooser), odd(chooser)
    return chooser.choice(
        [
            lambda: hc.Budget(**{name: first}, delta=second),
            lambda: hc.Budget(**{name: first}),
            lambda: hc.Budget(epsilon=first, rho=second, delta=third),
            lambda: hc.truncate(first, second),
            lambda: hc.truncate("time", second),
            lambda: hc.truncate("time", "day", zone=second),
            lambda: hc.Budget(rho=1, per=second),
            lambda: Window("time", "day", "UTC").during(first, second),
            lambda: Window("time", "week").during(second),
            lambda: hc.bins("x", second),
            lambda: hc.bins(first, second),
            lambda: hc.Csv(delimiter=first, quote=second),
            lambda: hc.Csv(header=first, columns=second),
            lambda: hc.public(first),
        ]
    )


def some_ledger_call(chooser: random.Random, ledger: Any) -> Callable[[], Any]:
    """A question to the ledger, or an account with something odd about it."""
    first, second = odd(chooser), odd(chooser)
    return chooser.choice(
        [
            lambda: ledger.account(first),
            lambda: ledger.entries(first, second),
            lambda: ledger.entries("web", first),
            lambda: ledger.quotas(first),
            lambda: ledger.covering(first),
            lambda: ledger.covered_by(first),
            lambda: ledger.stored_result(first),
            lambda: ledger.open_account("web", first),
            lambda: ledger.open_account("web", None, first),
            lambda: ledger.open_account("web", None, covers=first),
            lambda: ledger.open_account("web", None, quotas=first),
            lambda: ledger.set_quota("nobody", first, second),
            lambda: ledger.set_quota(first, "ann", second),
        ]
    )


def some_stream_call(chooser: random.Random, folder: Path) -> Callable[[], Any]:
    """A stream with something odd about it, or something odd done to a good one."""
    said: dict[str, Any] = {
        "groups": ["g1", "g2"], "buckets": None, "epsilon": 1, "neighbours": "add-remove",
        "hash_seed": None,
    }  # fmt: skip
    for name in chooser.sample(list(said), chooser.choice([1, 2])):
        said[name] = odd(chooser)
    first, second = odd(chooser), odd(chooser)
    place = first if not isinstance(first, str | Path) else folder / f"s{chooser.random()}.hcs"
    stream = hc.Stream(groups=["g1", "g2"], epsilon=1)
    buckets = hc.Stream(buckets=50, epsilon=1)
    return chooser.choice(
        [
            lambda: hc.Stream(**said),
            lambda: hc.Stream(**(said | {"groups": None, "buckets": second})),
            lambda: hc.Stream(groups=["g1"], epsilon=1, path=place),
            lambda: hc.Stream.load(first),
            lambda: hc.Stream.at_rest(first),
            lambda: hc.Stream.like(first),
            lambda: hc.Stream.like(stream, path=place),
            lambda: stream.update(first),
            lambda: stream.merge(first),
            lambda: stream.merge(hc.Stream.like(stream), second),
            lambda: stream.snapshot(place),
            lambda: stream.finish(fresh_noise=first),
            lambda: stream.finish(confidence=first),
            lambda: stream.finish(method=first, n_events=second),
            lambda: stream.finish(colour=first),
            lambda: buckets.finish(method=first),
            lambda: buckets.finish(n_events=first),
        ]
    )
