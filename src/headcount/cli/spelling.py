"""What a message tells people to write, as a shell spells it: ``top=100`` is ``--top 100``.

Messages are made where things are checked, for Python. The same words come from few makers
(``privacy/argument.py``), so that few rules turn them over.
"""

from __future__ import annotations

import re
import shlex

NAMES = (
    "account|again|at|at_most|bound|bounds|budget|buckets|by|columns|covers|debias|delimiter|delta|"
    "confidence|epsilon|field|flush_every|fresh|groups|header|key|ledger|like|low|high|memory|"
    "method|n_events|neighbours|of|out|per_user|"
    "plot|quote|range|ranges|rho|samples|scratch|spend|step|top|trusted_view|types|user|users|where|within"
)
A_KEY = "KEY"
FLAGS = {"fresh", "debias"}

_NAME = rf"(?<![\w?&/'-])(?<!--type )({NAMES})="
_CUT = r"(?:hc|headcount)\.(?:truncate|bins)\(([\"'])(.+?)\1, (?:width=)?[\"']?(\w+)[\"']?\)"
_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_TYPE = rf"types=\{{({_TEXT}): '(\w+)'\}}"
_ITEM = re.compile(rf"{_CUT}|({_TEXT})|([^,\s]+)")
_RULES = [
    (r"look at release\.withheld", f"headcount ledger result {A_KEY} --withheld shows them"),
    (r"csv=hc\.Csv\(header=False, columns=[^)]*\)", "--no-header --columns user,page"),
    (r"header=False and columns=\[\.\.\.\]", "--no-header --columns user,page"),
    (r"spend=hc\.Budget\(epsilon=([\d.]+)[^)]*\)", r"--epsilon \1"),
    (r"(?:budget=)?hc\.Budget\(epsilon=([\d.]+)[^)]*\)", r"--budget \1"),
    (r"ranges=\[\(.*?\)\], or ranges=\[[^\]]*\]", "--range :18 --range 18:65 --range 65:"),
    (r"bounds=\(([\d.]+), ([\d.]+)\)", r"--low \1 --high \2"),
    (r"\(low, high\)", "--low and --high"),
    (r"groups=\[[^\]]*\]", "--groups groups.txt"),
    (r"a Budget, or a share p/q", "a share p/q"),
    (r"\b(?:flush_every|flush every)\b(?!=)", "--flush-every"),
    (r"\bn_events\b(?!=)", "--events"),
]
_ENDS = [
    # Said in both ways, where both are needed.
    (r"(--[^()]+?) \(\1\)", r"\1"),
    (r"--no-header --columns \S+ \((--no-header --columns \S+)\)", r"\1"),
    (r"(--epsilon \S+, or a share of the account's whole limit: --spend \S+)\. On the command "
     r"line: [^.]+\.", r"\1."),
    (r"--ledger or --ledger\b", "--ledger"),
]  # fmt: skip


def in_shell(message: str) -> str:
    """A message with what to write as options of a command."""
    for pattern, words in _RULES:
        message = re.sub(pattern, words, message)
    message = re.sub(_TYPE, _type, message)
    message = re.sub(rf"{_NAME}\[([^\]]*)\]", _list, message)
    message = re.sub(_CUT, lambda cut: f"--by {_cut(cut[2], cut[3])}", message)
    message = re.sub(rf"{_NAME}({_TEXT}|[\w.+/-]*\w|\.\.\.|)", _option, message)
    for pattern, words in _ENDS:
        message = re.sub(pattern, words, message)
    return message


def counted(n: int, what: str) -> str:
    """So many of something: 1 entry, 2 entries."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n} {what if n == 1 else many}"


def _spelled(name: str) -> str:
    own = {"ranges": "range", "types": "type", "field": "json", "n_events": "events"}
    return "--" + own.get(name, name).replace("_", "-")


def _plain(text: str) -> str:
    """A text without the quotes of Python, and with those of a shell where it needs them."""
    return shlex.quote(_inner(text)) if text[:1] in ("'", '"') else text


def _inner(text: str) -> str:
    return text[1:-1].replace("\\'", "'")


def _cut(column: str, cut: str) -> str:
    return shlex.quote(f"{column}:{cut}")


def _type(found: re.Match[str]) -> str:
    return "--type " + shlex.quote(f"{_inner(found[1])}={found[2]}")


def _option(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    if name in FLAGS or not value or value == "None":
        return _spelled(name)
    return f"{_spelled(name)} {_plain(value)}"


def _list(found: re.Match[str]) -> str:
    items = [_cut(cut[2], cut[3]) if cut[2] else _plain(cut[0]) for cut in _ITEM.finditer(found[2])]
    return " ".join(f"{_spelled(found[1])} {item}" for item in items)
