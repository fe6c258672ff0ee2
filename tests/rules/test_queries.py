"""Private numbers leave the engine as answers to questions, and in no other way.

A question (``privacy/query.py``) carries how far one user can move its answer. These rules hold
everywhere in ``src``, as far as a module can be read without running it: who makes questions, who
reads rows, and who may ask. Each is tried on source with a fault in it.
"""

from __future__ import annotations

import ast

import pytest
from tests.rules.source import is_at, modules

# Who makes questions.

MAKERS = {
    "privacy/query.py": "it is made here",
    "contributions/": "they know the rows, and how far one user can move a sum",
    "streams/": "they know the counters",
    "fleet/core_noise.py": "the core knows the answers of a round, and how many a device gives",
    "trials/": "a trial's own numbers, and what mutants claim of theirs",
}
OF_QUERIES = {"headcount.privacy.query", "headcount.trials.given"}


def made(source: str) -> list[str]:
    """Where a module makes a question, makes one over, or gets hold of what could."""
    tree = ast.parse(source)
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=func, keywords=keywords):
                name = ast.unparse(func).split("[")[0].split(".")[-1]
                changed = {keyword.arg for keyword in keywords} & {"sensitivity", "ask"}
                if name == "Query":
                    found.append(f"{node.lineno}: Query(")
                elif name == "replace" and changed:
                    found.append(f"{node.lineno}: replace({', '.join(sorted(map(str, changed)))})")
            case ast.ImportFrom(module=module, names=names):
                whole = {module, *(f"{module}.{one.name}" for one in names)}
                if node not in for_types and whole & OF_QUERIES:
                    found.append(f"{node.lineno}: import")
            case ast.Import(names=names):
                if node not in for_types and {one.name for one in names} & OF_QUERIES:
                    found.append(f"{node.lineno}: import")
            case _:
                pass
    return found


def test_questions_are_made_where_the_rows_are_known() -> None:
    elsewhere = {path: one for path, one in modules().items() if not is_at(path, MAKERS)}
    assert {path: made(source) for path, source in elsewhere.items() if made(source)} == {}


def test_every_place_that_makes_questions_is_one() -> None:
    for place in MAKERS:
        assert any(made(source) for source in modules(place).values()), place


MADE = {
    "a question of its own": "from headcount.privacy.query import Query\nQuery(far, lambda: 3)",
    "a question with its type": "from x import Query\nQuery[int](far, lambda: 3)",
    "a question by its module": "from headcount.privacy import query\nquery.Query(far, ask)",
    "a question by another name": "from headcount.privacy.query import Query as Asked",
    "several at once": "from headcount.privacy.query import together",
    "all of the module": "import headcount.privacy.query",
    "a question that claims less": "from dataclasses import replace\nreplace(q, sensitivity=less)",
    "an answer put in place of another": "import dataclasses\ndataclasses.replace(q, ask=other)",
    "a trial's numbers": "from headcount.trials.given import given",
}


@pytest.mark.parametrize("planted", MADE)
def test_a_question_that_is_made_elsewhere_is_found(planted: str) -> None:
    assert made(MADE[planted])


def test_naming_a_question_as_a_type_makes_none() -> None:
    source = """
if TYPE_CHECKING:
    from headcount.privacy.query import Query

def draw(query: Query[int]) -> Query[int]:
    return replace(query.sensitivity, neighbours=query)
"""
    assert not made(source)


# Who reads rows.

STREAMS = {
    "tables/": "engines are made here",
    "contributions/read.py": "integers, for those who answer questions",
    "contributions/tally.py": "totals by group, part by part, each a question",
    "trials/reading.py": "an auditor's own look at what was opened",
}
WORKERS = {
    "tables/": "engines are made here",
    "contributions/buckets.py": "buckets of totals, each a question",
    "releases/wide/write.py": "to ask whether there are any, and have them checked on public rows",
}


def sent(source: str) -> list[int]:
    """Lines where a module has processes in its hands that read rows beside the data."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Attribute) and node.attr == "workers")
        or (isinstance(node, ast.Constant) and node.value == "workers")
    ]


def test_rows_are_read_beside_the_data_in_the_places_that_are_listed() -> None:
    everywhere = modules("tables/", "contributions/", "mechanisms/", "releases/", "results/")
    assert [
        path for path, one in everywhere.items() if not is_at(path, WORKERS) and sent(one)
    ] == []
    for place in WORKERS:
        assert place.endswith("/") or sent(modules(place)[place]), place
    # One call hands them a task, and it makes questions of what they read.
    writes = [path for path, one in everywhere.items() if "workers.write(" in one]
    assert writes == ["contributions/buckets.py"]
    assert sent("table.engine.workers()")
    assert sent("getattr(engine, 'workers')()")


def streamed(source: str) -> list[int]:
    """Lines where a module has an engine's stream of rows in its hands."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr="stream"):
                found.append(node.lineno)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value="stream"), *_]):
                found.append(node.lineno)
            case _:
                pass
    return found


def imports_read(source: str) -> list[int]:
    """Lines where a module gets hold of the functions that read."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="headcount.contributions", names=names):
                found += [node.lineno for one in names if one.name in ("read", "*")]
            case ast.ImportFrom(module="headcount.contributions.read"):
                found.append(node.lineno)
            case ast.Import(names=names):
                found += [n.lineno for n in names if n.name == "headcount.contributions.read"]
            case ast.Attribute(value=ast.Name(id="contributions"), attr="read"):
                found.append(node.lineno)
            case _:
                pass
    return found


def test_rows_are_streamed_in_the_places_that_are_listed() -> None:
    everywhere = modules()
    assert [p for p, one in everywhere.items() if not is_at(p, STREAMS) and streamed(one)] == []
    outside = [path for path in everywhere if not path.startswith("contributions/")]
    assert [path for path in outside if imports_read(everywhere[path])] == []
    for place in STREAMS:
        if not place.endswith("/"):
            assert streamed(modules(place)[place]), place


STREAMED = {
    "a stream of its own": "list(table.engine.stream(query, schema))",
    "a stream to be run later": "partial(engine.stream, query, schema)",
    "a stream by its text": "getattr(engine, 'stream')(query, schema)",
}
IMPORTED = {
    "the module": "from headcount.contributions import read",
    "a function": "from headcount.contributions.read import one_row",
    "the module by its path": "import headcount.contributions.read",
    "by the package": "from headcount import contributions\ncontributions.read.one_row(e, q)",
    "whatever there is": "from headcount.contributions import *",
}


@pytest.mark.parametrize("planted", STREAMED)
def test_a_stream_elsewhere_is_found(planted: str) -> None:
    assert streamed(STREAMED[planted])


@pytest.mark.parametrize("planted", IMPORTED)
def test_reading_elsewhere_is_found(planted: str) -> None:
    assert imports_read(IMPORTED[planted])


# Who may ask.

NEVER_ASK = ("releases/", "results/", "cli/")


def asked(source: str) -> list[int]:
    """Lines where a module has the answer to a question in its hands, or a way to it."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr="answer"):
                pass  # what a verb calls its own answer, which is of noisy numbers
            case ast.Attribute(attr="ask" | "answer" | "_read") | ast.Constant(value="ask"):
                found.append(node.lineno)
            case _:
                pass
    return found


def test_a_release_asks_nothing_itself() -> None:
    assert [path for path, source in modules(*NEVER_ASK).items() if asked(source)] == []


ASKED = {
    "an answer": "users = users_of(table).ask()",
    "a way to it": "mechanism.noisy(query.ask)",
    "an answer for the noise it needs": "query.answer(query.sensitivity)",
    "by its text": "getattr(query, 'ask')()",
    "what a part has read": "part._read().column(0)",
}


@pytest.mark.parametrize("planted", ASKED)
def test_a_release_that_asks_is_found(planted: str) -> None:
    assert asked(ASKED[planted])
