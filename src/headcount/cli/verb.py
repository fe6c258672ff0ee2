"""A command from the statement of a verb: its own options, and those that every verb has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headcount.cli import options as option
from headcount.cli import written
from headcount.releases.verbs import STATED

FIRST = {"source": option.Source, "user": option.User}
LAST: dict[str, tuple[Any, Any]] = {
    "epsilon": (option.Epsilon, None),
    "spend": (option.Spend, None),
    "delta": (option.Delta, "1e-6"),
    "budget": (option.AccountBudget, None),
    "window": (option.Window, None),
    "zone": (option.Zone, None),
    "window_budget": (option.WindowBudget, None),
    "during": (option.During, None),
    "ledger": (option.LedgerPlace, None),
    "account": (option.AccountName, None),
    "where": (option.Where, None),
    "delimiter": (option.Delimiter, ","),
    "quote": (option.Quote, '"'),
    "header": (option.Header, True),
    "columns": (option.Columns, None),
    "types": (option.Types, None),
    "memory": (option.Memory, None),
    "scratch": (option.ScratchFolder, None),
    "trusted_view": (option.TrustedView, None),
    "mistaken_user": (option.MistakenUser, None),
    "fresh": (option.Fresh, False),
    "key": (option.Key, None),
    "again": (option.Again, None),
    "wide_to": (option.WideTo, None),
    "wide_files": (option.WideFiles, None),
    "out": (option.Out, None),
    "plot": (option.Plot, None),
    "report": (option.Report, None),
    "json": (option.Json, False),
    "csv": (option.AsCsv, False),
    "quiet": (option.Quiet, False),
    "plan": (option.OnlyPlan, False),
    "sweep": (option.Sweep, False),
    "explain": (option.Explain, False),
}


CSV = ("delimiter", "quote", "header", "columns")

OPENED = ("source", "user", "ledger", "account", "where", "memory", "scratch")
OPENING = ("window", "zone", "window_budget", "budget", "delta")


def verb(name: str) -> Callable[..., None]:
    """A command that opens a dataset, plans by the verb of this name, and releases the plan."""
    stated = STATED[name]

    def run(**given: Any) -> None:
        from headcount.cli.opened import opened
        from headcount.cli.output import Output, files_of
        from headcount.cli.piped import refuse_for_a_plan
        from headcount.cli.show import release_and_show
        from headcount.cli.sweep import show_sweep
        from headcount.releases.arguments import groups_in, result_bytes

        said = {name: given.pop(name) for name in (*FIRST, *LAST)}
        spend = option.spend_of(said["epsilon"], said["spend"])
        output = Output.asked(
            *(said[name] for name in ("out", "plot", "report")),
            as_json=said["json"],
            as_csv=said["csv"],
            quiet=said["quiet"],
        )
        if said["plan"]:
            refuse_for_a_plan(output.piped)
        if given.get("groups") is not None:
            # Once: a shell may hand over what cannot be read a second time.
            given["groups"] = groups_in(given["groups"])
        listed = result_bytes(given.get("groups") or [])
        output.check(files_of(said["source"], said["ledger"]), listed)
        data = opened(
            **{name: said[name] for name in OPENED},
            **option.windows_of(*(said[name] for name in OPENING)),
            csv=option.csv_of(*(said[name] for name in CSV)),
            types=option.types_of(said["types"]),
            trusted_view=said["trusted_view"],
            mistaken_users=said["mistaken_user"] or (),
        )
        if said["during"] is not None:
            data = data.during(*option.during_of(said["during"]))
        own = {one: written.read(one, stated.own[one], given, data) for one in stated.own}
        planned = getattr(data, name)(**own, spend=spend)
        asked = {name: said[name] for name in ("key", "again", "fresh", "explain")}
        if said["sweep"]:
            show_sweep(planned, output, with_plan=said["plan"])
        else:
            to = {"to": said["wide_to"], "files": said["wide_files"]}
            release_and_show(planned, output=output, only_plan=said["plan"], **asked, **to)

    own = [one for argument in stated.own.items() for one in written.options(*argument)]
    parameters = [
        *(_parameter(name, annotation) for name, annotation in FIRST.items()),
        *own,
        *(_parameter(name, annotation, default) for name, (annotation, default) in LAST.items()),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = stated.does
    return run


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> Any:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)
