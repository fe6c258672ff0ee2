"""Write docs/reference/api.md from docstrings; a test checks that it is up to date and complete."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import headcount as hc
from headcount.ledger.account import Account, Entry
from headcount.ledger.ledger import Ledger
from headcount.postprocess.frequencies import Estimate
from headcount.receipts.verify import Verified
from headcount.releases.expected import Expected
from headcount.results.facts import Facts
from headcount.results.frequencies import FrequencyRelease
from headcount.series.price import DryRun
from headcount.series.ran import Ran
from headcount.streams.output import StreamCounts, StreamFrequencies

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
FUNCTIONS = ("open", "truncate", "bins", "public", "verify")
CLASSES: dict[type, str] = {
    hc.Dataset: "What `hc.open` returns. Each verb makes a `Plan`.",
    hc.Plan: "What a verb returns.",
    Expected: "What `plan.expected()` and `plan.sweep()` return.",
    hc.Release: "What `plan.release()` returns.",
    hc.WideRelease: "What `plan.release(to=...)` returns: the rows are in files.",
    FrequencyRelease: "What a plan of `data.frequencies` releases: a `Release`, and more.",
    Estimate: "What `release.distinct()` and its like return.",
    Facts: "`release.facts`.",
    hc.Budget: "",
    hc.Csv: "",
    Account: "`data.account`.",
    Ledger: "`data.ledger`.",
    Entry: "One of `data.ledger.entries(account)`.",
    Verified: "What `hc.verify` returns.",
    hc.Series: "",
    Ran: "What `series.run()` returns.",
    DryRun: "What `series.dry_run()` returns.",
    hc.Stream: "",
    StreamCounts: "What `stream.finish()` returns, where groups are known: a `Release`.",
    StreamFrequencies: "What it returns where values are hashed: a `Release`, and more.",
}
ARGUMENT = re.compile(r"^([a-z_]\w*): +(\S.*)$")
ARGUMENTS = re.compile(ARGUMENT.pattern, re.MULTILINE)


def public_members(cls: type) -> list[str]:
    """Public names of a class, those of the classes that it extends included, in order."""
    named = [name for part in reversed(cls.__mro__[:-1]) for name in _written(part)]
    return [name for name in dict.fromkeys(named) if not name.startswith("_")]


def own_members(cls: type) -> list[str]:
    """Those that no class before it on the page has."""
    others = [one for one in CLASSES if one is not cls and issubclass(cls, one)]
    before = {name for one in others for name in public_members(one)}
    return [name for name in public_members(cls) if name not in before]


def _written(cls: type) -> list[str]:
    return [*inspect.get_annotations(cls), *vars(cls)]


def field_docs(cls: type) -> dict[str, str]:
    """What stands under each field of a class, or in the list of its docstring."""
    found: dict[str, str] = dict(ARGUMENTS.findall(inspect.cleandoc(cls.__doc__ or "")))
    for part in reversed(cls.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
        lines = body.body if isinstance(body, ast.ClassDef) else []
        for one, after in pairwise(lines):
            if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
                continue
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found[one.target.id] = " ".join(str(after.value.value).split())
    return found


def described(docstring: str) -> list[str]:
    """A docstring as Markdown: paragraphs, and a list where it explains arguments."""
    lines: list[str] = []
    is_listed = False
    for line in inspect.cleandoc(docstring).replace("``", "`").splitlines():
        argument = ARGUMENT.match(line)
        if argument:
            lines += [] if is_listed else [""]
            lines.append(f"- `{argument[1]}`: {argument[2]}")
            is_listed = True
        elif is_listed and line.strip() and line.startswith(" "):
            lines[-1] += f" {line.strip()}"
        else:
            is_listed = False
            lines.append(line.strip())
    return [*lines, ""]


def signature(name: str, function: Any) -> str:
    """The call as a person writes it: names and defaults, without types."""
    parameters = list(inspect.signature(function).parameters.values())
    bare = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in parameters
        if one.name not in ("self", "cls")
    ]
    text = str(inspect.Signature(bare))
    return f"{name}{re.sub(r'<(?:function|property)[^>]*>', '…', text)}"


def _member(cls: type, name: str, docs: dict[str, str]) -> Iterator[str]:
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    if inspect.isfunction(found):
        called = f"{cls.__name__}.{name}"
        yield from (f"### {called}", "", f"`{signature(called, found)}`", "")
        yield from described(found.__doc__ or "")
        return
    is_property = isinstance(found, property)
    text = (found.__doc__ or "") if is_property else docs.get(name, "")
    said = " ".join(described(text)).strip() if text else ""
    yield from (f"### {cls.__name__}.{name}", "", *([said, ""] if said else []))


def _class(cls: type, what: str) -> Iterator[str]:
    yield from (f"## {cls.__name__}", "", *([what, ""] if what else []))
    doc = "" if (cls.__doc__ or "").startswith(f"{cls.__name__}(") else cls.__doc__ or ""
    yield from described(doc)
    if cls in (hc.Budget, hc.Csv, hc.Stream):
        yield from (f"`hc.{signature(cls.__name__, cls)}`", "")
        if cls is hc.Stream:
            yield from described(hc.Stream.__init__.__doc__ or "")
    docs = field_docs(cls)
    for name in own_members(cls):
        yield from _member(cls, name, docs)


def errors() -> list[str]:
    """Every error by name, with what it means."""
    names = [name for name in hc.__all__ if name.endswith("Error")]
    lines = ["## Errors", "", "| error | meaning |", "|---|---|"]
    for name in names:
        text = described((getattr(hc, name).__doc__ or "").split("\n\n")[0])
        lines.append(f"| `hc.{name}` | {' '.join(text).strip()} |")
    return [*lines, ""]


def page() -> str:
    """The page as it should be."""
    lines = [
        "# Every public name",
        "",
        "Made from the docstrings of the version at hand. [Python](python.md) has the short list.",
        "`hc.__version__` is the version.",
        "",
        "## Functions",
        "",
    ]
    for name in FUNCTIONS:
        function = getattr(hc, name)
        lines += [f"### hc.{name}", "", f"`{signature(f'hc.{name}', function)}`", ""]
        lines += described(function.__doc__ or "")
    for cls, what in CLASSES.items():
        lines += _class(cls, what)
    lines += errors()
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return text.rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
