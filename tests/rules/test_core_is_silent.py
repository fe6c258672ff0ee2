"""The core of a fleet says counts from the threshold on, and nothing of what it opens otherwise.

It has keys and answers in its hands. So neither it nor what it imports of the fleet logs, prints,
warns or writes, but to its socket and its keys; and what it says when something goes wrong was
written before: no message is made of bytes that it was given.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.rules.source import Module, modules

FIRST = "fleet/core_process.py"
SPEAKING = frozenset(
    {"logging", "warnings", "traceback", "syslog", "faulthandler", "pdb", "inspect", "trace"}
)
BUILT_IN = frozenset({"print", "input", "breakpoint", "open", "exec", "eval", "__import__"})
ATTRIBUTES = frozenset(
    {
        *("stdout", "stderr", "__stdout__", "__stderr__", "excepthook", "exc_info", "exception"),
        *("write", "writelines", "write_text", "write_bytes", "format_exc", "add_note"),
        *("__cause__", "__context__", "__traceback__", "__notes__", "print_exc", "import_module"),
    }
)
MADE = frozenset({"str", "repr", "ascii", "format"})
OF_THE_TASK = {
    "fleet/task.py": "tasks are public, and whoever wrote one is told what is wrong with it",
    "fleet/task_file.py": "the same",
    "fleet/yaml_file.py": "the same",
    "fleet/characters.py": "the same, of the pattern of a task",
    "fleet/evidence_kinds.py": "the same, of the evidence that it asks for",
}
LISTED = {
    "fleet/core_process.py: open": (1, "a worker's own outputs, which go nowhere"),
    "fleet/core_process.py: stderr": (1, "the same"),
    "fleet/core_process.py: stdout": (1, "the same"),
    "fleet/core_process.py: str(place)": (1, "where the socket is"),
    "fleet/core_process.py: except UsageError": (2, "all that raise it are looked at here"),
    "fleet/core_process.py: str(error)": (1, "the same"),
    "fleet/core.py: str(group)": (1, "of groups that are shown"),
    "fleet/frames.py: b''.join(parts)": (1, "a frame, for whoever it is sent to"),
    "fleet/keybox.py: write": (1, "keys, to where they are kept"),
    "fleet/keybox.py: {number}": (4, "which round; public"),
    "fleet/keybox.py: {task.hex()}": (1, "which task; public"),
    "fleet/keybox.py: {path.suffix}": (1, "a word of our own, for the name of a draft"),
    "fleet/keybox.py: {name}": (1, "the same two, for a file"),
    "fleet/evidence_test.py: b''.join((half.to_bytes(48, 'big') for half in halves))": (
        1,
        "a signature, which is public",
    ),
    "fleet/evidence_test.py: str(path.relative_to(PACKAGE))": (1, "a module's name, to be hashed"),
    "fleet/evidence_test.py: {digest.hexdigest()}": (1, "the root's certificate, which is public"),
    "fleet/own_folder.py: {what}": (1, "a word of our own: whose folder it is"),
    "fleet/sandbox.py: {user}": (2, "who runs the core"),
    "fleet/sandbox.py: {group}": (2, "the same"),
    "fleet/sandbox.py: write_text": (1, "to the kernel, before anything is opened"),
    "fleet/secret_file.py: write": (1, "the key of a test root, to where it is kept"),
    "fleet/secret_file.py: {os.getpid()}": (1, "who makes it, for the name of a draft"),
    "fleet/secret_file.py: {path.name}": (1, "its name"),
    "fleet/secret_file.py: {what}": (3, "a word of our own: whose secret it is"),
    "fleet/wire.py: {len(spelled)}": (1, "of a descriptor, which is public"),
}
"""How often each is there, and why."""


def core_modules() -> dict[str, str]:
    """What the core runs of the fleet: its module, and all that these import of it."""
    found: dict[str, str] = {}
    waiting = [FIRST]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = modules("fleet/")[path]
            imported = {what.split(":")[0] for what in Module(path, found[path]).imported.values()}
            waiting += [one for one in imported if one in modules("fleet/")]
    return found


def said(path: str, source: str) -> Iterator[str]:
    """Where a module could say what it was given."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name.split(".")[0] in SPEAKING)
            case ast.ImportFrom(module=module) if str(module).split(".")[0] in SPEAKING:
                yield str(module)
            case ast.Name(id=name) if name in BUILT_IN:
                yield name
            case ast.Attribute(attr=name) if name in ATTRIBUTES:
                yield name
            case _:
                if path not in OF_THE_TASK:
                    yield from words_made(node)


def words_made(node: ast.AST) -> Iterator[str]:
    """Texts that are made of what is not written in the module."""
    match node:
        case ast.FormattedValue(value=value) if not is_written(value):
            yield f"{{{ast.unparse(value)}}}"
        case ast.Call(func=ast.Name(id=name)) if name in MADE:
            yield ast.unparse(node)
        case ast.Call(func=ast.Attribute(attr="format" | "join" | "format_map")):
            yield ast.unparse(node)
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod() | ast.Add()):
            yield ast.unparse(node)
        case ast.Raise(exc=ast.Call(args=args)):
            texts = (ast.Constant, ast.JoinedStr)
            yield from (
                f"raise {ast.unparse(one)}"
                for one in args
                if not isinstance(one, texts) and not is_written(one)
            )
        case ast.ExceptHandler(type=kind, name=str()):
            yield f"except {ast.unparse(kind) if kind else ''}"
        case _:
            pass


def is_written(node: ast.AST) -> bool:
    """Whether it is a constant of a module."""
    return ast.unparse(node).split(".")[0].isupper()


def counted(sources: dict[str, str]) -> Counter[str]:
    return Counter(f"{path}: {one}" for path in sources for one in said(path, sources[path]))


def test_the_core_says_nothing_else() -> None:
    assert counted(core_modules()) == {one: n for one, (n, _) in LISTED.items()}


def test_the_core_is_all_that_it_runs() -> None:
    assert {"fleet/core.py", "fleet/seal.py", "fleet/wire.py", "fleet/frames.py"} <= set(
        core_modules()
    )


PLANTS = {
    "a line of a log": "import logging\nlogging.getLogger('headcount').info('%d reports', n)",
    "a log of somebody's": "from logging import getLogger",
    "a line that is printed": "print(len(true_counts))",
    "a line for the operator": "import sys\nsys.stderr.write(value)",
    "a warning": "import warnings\nwarnings.warn('a report did not open', stacklevel=1)",
    "an error that quotes an answer": "raise UsageError(f'{value!r} is no answer.')",
    "an error that is an answer": "raise UsageError(value)",
    "an error of how many": "raise UsageError('Only %d reports opened.' % len(opened))",
    "an error put together": "raise UsageError('No answer: ' + value)",
    "an error made by format": "raise UsageError('No answer: {}'.format(value))",
    "an error passed on": "try:\n    f()\nexcept Exception as error:\n    reply = error.args[0]",
    "where it was raised": "import traceback\nreply = traceback.format_exc()",
    "where it was raised, by sys": "import sys\nreply = sys.exc_info()",
    "a note on an error": "error.add_note(value)",
    "a file": "from pathlib import Path\nPath('/tmp/seen').write_bytes(value)",
    "a file that is opened": "open('/tmp/seen', 'a')",
    "a module by its name": "__import__('logging').info(value)",
}


@pytest.mark.parametrize("path", ["fleet/core.py", FIRST])
@pytest.mark.parametrize("plant", PLANTS)
def test_a_core_that_speaks_is_found(plant: str, path: str) -> None:
    sources = core_modules()
    planted = {**sources, path: f"{sources[path]}\n{PLANTS[plant]}\n"}
    assert counted(planted) - counted(sources)
