"""A command from a verb: its own options, and those that every verb has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints

from headcount.cli import options as option

if TYPE_CHECKING:
    from headcount.releases.plan import Plan

FIRST = {"source": option.Source, "user": option.User}
LAST: dict[str, tuple[Any, Any]] = {
    "epsilon": (option.Epsilon, None),
    "spend": (option.Spend, None),
    "delta": (option.Delta, "1e-6"),
    "budget": (option.AccountBudget, None),
    "ledger": (option.LedgerPlace, None),
    "account": (option.AccountName, None),
    "where": (option.Where, None),
    "delimiter": (option.Delimiter, ","),
    "quote": (option.Quote, '"'),
    "header": (option.Header, True),
    "columns": (option.Columns, None),
    "types": (option.Types, None),
    "memory": (option.Memory, None),
    "trusted_view": (option.TrustedView, None),
    "fresh": (option.Fresh, False),
    "key": (option.Key, None),
    "again": (option.Again, None),
    "out": (option.Out, None),
    "plot": (option.Plot, None),
    "plan": (option.OnlyPlan, False),
}


CSV = ("delimiter", "quote", "header", "columns")


def verb(make: Callable[..., Plan]) -> Callable[..., None]:
    """A command that opens a dataset, plans by ``make``, and releases what was planned.

    ``make`` takes the dataset, the spend, and the options of its own; its help is the command's.
    """
    # What only a type checker knows is not asked for on the command line.
    unseen = dict.fromkeys(("Budget", "Dataset", "Plan"), Any)
    hints = get_type_hints(make, None, unseen, include_extras=True)
    own = [
        parameter.replace(annotation=hints[parameter.name], kind=parameter.KEYWORD_ONLY)
        for parameter in list(inspect.signature(make).parameters.values())[2:]
    ]

    def run(**given: Any) -> None:
        from headcount.cli.opened import opened
        from headcount.cli.output import Output, files_of
        from headcount.cli.show import release_and_show
        from headcount.releases.arguments import result_bytes

        said = {name: given.pop(name) for name in (*FIRST, *LAST)}
        spend = option.spend_of(said["epsilon"], said["spend"])
        output = Output(said["out"], said["plot"])
        listed = option.listed(given.get("groups"))
        output.check(files_of(said["source"], said["ledger"]), result_bytes(listed or []))
        data = opened(
            *(said[name] for name in ("source", "user", "delta", "budget")),
            **{name: said[name] for name in ("ledger", "account", "where", "memory")},
            csv=option.csv_of(*(said[name] for name in CSV)),
            types=option.types_of(said["types"]),
            trusted_view=said["trusted_view"],
        )
        planned = make(data, spend, **given)
        asked = {name: said[name] for name in ("key", "again", "fresh")}
        release_and_show(planned, output=output, only_plan=said["plan"], **asked)

    defaults = {name: default for name, (_, default) in LAST.items()}
    parameters = [
        *(_parameter(name, annotation) for name, annotation in FIRST.items()),
        *own,
        *(_parameter(name, LAST[name][0], defaults[name]) for name in LAST),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = make.__doc__
    return run


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> Any:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)
