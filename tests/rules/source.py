"""The source of headcount as its rules read it: modules, their functions, and who reads rows.

A module is read without running it, so that a rule can be tried on source with a fault in it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import headcount

SOURCE = Path(headcount.__path__[0])
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
READ = "contributions/read.py"


@cache
def modules(*folders: str) -> dict[str, str]:
    """The source of every module, or of those in some folders, by its path."""
    found = {
        path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }
    return {path: source for path, source in found.items() if path.startswith(folders or "")}


def is_at(path: str, places: dict[str, str]) -> bool:
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in places)


NAMES = {
    "contributions/group_totals.py:GroupTotals.names": "of groups that a mechanism let out",
    "contributions/group_totals.py:GroupTotals.every_name": "of groups on a public list",
}
"""What reads and hands out no question: names of groups, not numbers."""
HANDING_OVER = ("Query", "GroupTotals", "together")
QUESTIONS = ("Query", "GroupTotals", "TrueFrequencies")


@dataclass
class Module:
    """What the names of a module stand for."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def imported(self) -> dict[str, str]:
        """Names that stand for modules of the package, or for what is in one."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headcount."):
                folder = node.module.removeprefix("headcount.").replace(".", "/")  # type: ignore[union-attr]
                for one in node.names:
                    is_file = (SOURCE / folder / f"{one.name}.py").exists()
                    what = f"{folder}/{one.name}.py" if is_file else f"{folder}.py:{one.name}"
                    found[one.asname or one.name] = what
        return found

    def token(self, node: ast.AST) -> str:
        """Which function a name stands for: one of a module, or a method by its name alone."""
        match node:
            case ast.Name(id=name):
                return self.imported.get(name, f"{self.path}:{name}")
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self.imported:
                return f"{self.imported[name]}:{attr}"
            case ast.Attribute(attr=attr):
                return f".{attr}"
            case _:
                return ""

    def tokens(self, node: ast.AST) -> set[str]:
        """All that an expression names."""
        return {self.token(inner) for inner in ast.walk(node)} - {""}


@dataclass(eq=False)
class Function:
    """A function of a module, without those within it."""

    module: Module
    names: tuple[str, ...]
    node: ast.FunctionDef | ast.AsyncFunctionDef
    outer: Function | None
    is_method: bool
    own: list[ast.AST] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def where(self) -> str:
        return f"{self.module.path}:{'.'.join(self.names)}"

    @property
    def token(self) -> str:
        return f".{self.name}" if self.is_method else f"{self.module.path}:{self.name}"

    @cached_property
    def is_property(self) -> bool:
        return any("property" in ast.unparse(one) for one in self.node.decorator_list)

    @property
    def is_public(self) -> bool:
        """Whether it can be called from elsewhere: by its name, and not within another."""
        return self.outer is None and not self.name.startswith("_")

    @cached_property
    def gives_questions(self) -> bool:
        """Whether what it returns is a question or many, and nothing beside."""
        returns = ast.unparse(self.node.returns) if self.node.returns else ""
        for many in ("tuple", "list", "Iterator", "Iterable", "Sequence"):
            returns = returns.removeprefix(f"{many}[")
        return returns.split("[")[0].rstrip("]").split(",")[0] in QUESTIONS

    @cached_property
    def variables(self) -> dict[str, set[str]]:
        """What names that are assigned to here, or around here, stand for."""
        found = dict(self.outer.variables) if self.outer else {}
        for node in self.own:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                token = self.module.token(node.targets[0])
                found[token] = found.get(token, set()) | self.module.tokens(node.value)
        return found

    def meant(self, tokens: set[str]) -> set[str]:
        """These and what stands behind variables among them."""
        return tokens.union(*(self.variables[one] for one in tokens & set(self.variables)))

    @cached_property
    def called(self) -> set[str]:
        """What it calls, or names where that is a call."""
        calls = [node.func for node in self.own if isinstance(node, ast.Call)]
        return self.meant({self.module.token(one) for one in calls})

    @cached_property
    def named(self) -> set[str]:
        return {self.module.token(node) for node in self.own} - {""}

    @cached_property
    def handed_over(self) -> set[str]:
        """What it puts into a question, also by way of a variable."""
        found: set[str] = set()
        for node in self.own:
            if isinstance(node, ast.Call) and name_of(node.func) in HANDING_OVER:
                for argument in node.args + [keyword.value for keyword in node.keywords]:
                    found |= self.meant(self.module.tokens(argument))
        return found

    @cached_property
    def kept(self) -> set[str]:
        """What it has in its hands without calling it."""
        calls = {node.func for node in self.own if isinstance(node, ast.Call)}
        return {self.module.token(node) for node in self.own if node not in calls} - {""}

    @property
    def reads_itself(self) -> bool:
        """Whether it runs a query, calls what does in ``read.py``, asks, or opens what was read."""
        ways = {".stream", ".ask", ".answer", "._read"}
        return any(one in ways or one.startswith(f"{READ}:") for one in self.called)

    def uses(self, one: Function) -> bool:
        return one.token in (self.named if one.is_property else self.called)


def functions(path: str, source: str) -> list[Function]:
    module, found = Module(path, source), list[Function]()

    def visit(
        node: ast.AST, names: tuple[str, ...], within: Function | None, in_class: bool
    ) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                name = (*names, child.name)
                function = Function(module, name, child, within, in_class)
                found.append(function)
                visit(child, name, function, False)
            elif isinstance(child, ast.ClassDef):
                visit(child, (*names, child.name), None, True)
            else:
                if within is not None:
                    within.own.append(child)
                visit(child, names, within, in_class)

    visit(module.tree, (), None, False)
    return found


def name_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@dataclass
class Package:
    """Functions, and those among them that read rows."""

    every: list[Function]

    @classmethod
    def of(cls, sources: dict[str, str]) -> Package:
        return cls([one for path, source in sources.items() for one in functions(path, source)])

    @cached_property
    def readers(self) -> list[Function]:
        """All that read, or call one that does and are given numbers by it."""
        found = [one for one in self.every if one.reads_itself]
        while True:
            giving = [one for one in found if not one.gives_questions and one.where not in NAMES]
            more = [
                one
                for one in self.every
                if one not in found and any(one.uses(other) for other in giving)
            ]
            if not more:
                return found
            found += more

    def asked_by(self, reader: Function) -> list[str]:
        """Who puts a reader into a question, itself or by way of other readers."""
        chain, last = {reader}, set[Function]()
        while chain != last:
            last = chain
            chain = chain | {up for up in self.readers for one in chain if up.uses(one)}
        tokens = {one.token for one in chain}
        return [one.where for one in self.every if one.handed_over & tokens]

    def wrong(self) -> list[str]:
        """What reads and is no answer to a question."""
        found = []
        for one in self.readers:
            if one.is_public and not one.gives_questions and one.where not in NAMES:
                found.append(f"{one.where} reads, and gives no question")
            if not one.is_public and not self.asked_by(one):
                found.append(f"{one.where} reads, and is put into no question")
        tokens = {one.token for one in self.readers if not one.is_property and not one.is_public}
        for one in self.every:
            could_read = {t for t in one.kept if t in tokens or t.startswith(f"{READ}:")}
            found += [f"{one.where} keeps {t}" for t in could_read - one.handed_over]
        return sorted(found)
