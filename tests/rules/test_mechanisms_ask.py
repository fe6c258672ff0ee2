"""A mechanism takes questions, never bare numbers, and asks for what its noise is made for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.rules.source import functions, modules, name_of

from headcount.trials.decided import DRAWS


def asked_past_the_noise(source: str) -> list[int]:
    """Where a mechanism asks without saying what its noise is made for."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr == "ask"
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    ]


def test_a_mechanism_asks_for_no_more_than_its_noise_is_made_for() -> None:
    for path, source in modules("mechanisms").items():
        assert not asked_past_the_noise(source), path
    assert asked_past_the_noise("def draw(self, query, chance): return query.ask()")


HELD_TO = ("self.sensitivity", "replace(self.sensitivity, neighbours=query.sensitivity.neighbours)")
"""What a mechanism may ask by: how far its own noise reaches, whatever the relation."""
AS_FAR_AS_SAID = {
    "bound_choice.py": "scores are in units of what the question says, and the noise is on scores",
}


def not_held(source: str) -> list[str]:
    """What a mechanism asks by that is not its own."""
    found = []
    for function in functions("planted.py", source):
        meant = {
            name_of(node.targets[0]): ast.unparse(node.value)
            for node in function.own
            if isinstance(node, ast.Assign)
        }
        for node in function.own:
            if isinstance(node, ast.Call) and name_of(node.func) == "answer":
                by = [ast.unparse(one) for one in node.args]
                found += [one for one in by if meant.get(one, one) not in HELD_TO]
    return found


def test_a_mechanism_asks_by_its_own_sensitivity() -> None:
    for path, source in mechanisms().items():
        assert bool(not_held(source)) == (path in AS_FAR_AS_SAID), path


@pytest.mark.parametrize(
    "line",
    [
        "query.answer(query.sensitivity)",
        "chance.noisy(query.answer(query.sensitivity), self.law)",
        "far = query.sensitivity; query.answer(far)",
        "query.answer(self.sensitivity.times(4))",
        "query.answer(replace(self.sensitivity, l1=0, neighbours=query.sensitivity.neighbours))",
    ],
)
def test_a_mechanism_that_asks_as_far_as_the_question_goes_is_found(line: str) -> None:
    assert not_held(f"def draw(self, query, chance):\n    {line}")


ENGINES = {"sample_threshold.py": "its noise is the engine's, in what is asked"}


def answered(source: str) -> bool:
    """Whether a module has private numbers in its hands, or a way to them."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "answer")
        or (isinstance(node, ast.Constant) and node.value in ("ask", "answer"))
        for node in ast.walk(ast.parse(source))
    )


def test_what_has_private_numbers_is_played_to_many_tables() -> None:
    """No mechanism has them whose outputs are not known to be made of what was drawn."""
    having = {path for path, source in mechanisms().items() if answered(source)}
    rooms = {f"{Path(path).parent}.py" if "/" in path else path for path in having}
    assert rooms <= {f"{name}.py" for name in DRAWS} | set(ENGINES)
    assert len(rooms) >= len(DRAWS)


@pytest.mark.parametrize(
    "line",
    [
        "true_counts = query.answer(query.sensitivity)",
        "read = query.answer",
        "getattr(query, 'answer')(self.sensitivity)",
        "getattr(query, 'ask')()",
    ],
)
def test_private_numbers_in_a_mechanism_are_found(line: str) -> None:
    assert answered(line)


PUBLIC = {
    "equal_error/overlooked.py:Overlooked.look:gone": "what was published before",
    "size_choice.py:SizeChoice.draw:allowed": "what may be lost, from noisy numbers",
    "size_choice.py:SizeChoice.draw:among": "candidates that were chosen before",
    "sorted_counts.py:SortedCounts.again:runs": "counts that were fitted to noisy ones",
}
"""Arrays that a mechanism takes and that are public, with the reason."""

PLAIN = {"Query", "Chance", "int", "float", "bool", "str", "None", "Fraction", "Zcdp"}
QUERIES = {"PairQueries", "ListedQueries", "ShareQueries", "FoundQueries"}
AROUND = {"Sequence", "Callable"}


class WithoutAnswers(ast.NodeTransformer):
    """Annotations with what a question is answered by left out."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return node.value if name_of(node.value) == "Query" else self.generic_visit(node)


def bare(path: str, source: str) -> list[str]:
    """Arguments of what draws that could be private numbers and are no question."""
    found = []
    for function in functions(path, source):
        arguments = function.node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        draws = function.name in ("draw", "keep") or any(
            one.annotation is not None and ast.unparse(one.annotation) == "Chance" for one in given
        )
        if not draws or function.name.startswith("_") or function.outer is not None:
            continue
        for one in given:
            if one.arg == "self":
                continue
            words = {"nothing"}
            if one.annotation is not None:
                kept = WithoutAnswers().visit(one.annotation)
                words = {name_of(node) for node in ast.walk(kept) if name_of(node)}
            where = f"{function.where}:{one.arg}"
            is_number = words <= PLAIN | QUERIES | AROUND and not (
                words & AROUND and words & {"int", "float", "Fraction"}
            )
            if not is_number and where not in PUBLIC:
                found.append(where)
    return found


def mechanisms() -> dict[str, str]:
    left_out = "mechanisms/chance.py"  # noise itself, which takes numbers from mechanisms alone
    found = {path: source for path, source in modules("mechanisms/").items() if path != left_out}
    return {path.removeprefix("mechanisms/"): source for path, source in found.items()}


def test_a_mechanism_takes_questions_and_never_bare_numbers() -> None:
    for path, source in mechanisms().items():
        assert not bare(path, source)


def test_public_arrays_that_are_listed_are_there() -> None:
    arguments = {
        f"{function.where}:{one.arg}"
        for path, source in mechanisms().items()
        for function in functions(path, source)
        for one in function.node.args.args
    }
    assert set(PUBLIC) <= arguments


def test_every_mechanism_draws_or_keeps() -> None:
    drawing = {
        path
        for path, source in mechanisms().items()
        if any(one.name in ("draw", "keep") for one in functions(path, source))
    }
    assert len(drawing) >= 18


BARE = {
    "an array": "counts: NDArray[np.int64], chance: Chance",
    "an array by its short name": "counts: Integers, chance: Chance",
    "an array or a question": "query: Query[Integers] | Integers, chance: Chance",
    "an array beside a question": "query: Query[Integers], true_sizes: Integers, chance: Chance",
    "numbers in a list": "losses: Sequence[int], chance: Chance",
    "what gives numbers": "ask: Callable[[], Integers], chance: Chance",
    "what gives a number": "ask: Callable[[], int], chance: Chance",
    "a table": "rows: pa.Table, chance: Chance",
    "anything": "rows: Any, chance: Chance",
    "nothing said": "rows, chance: Chance",
    "any number of them": "*rows: Integers, chance: Chance",
    "by name only": "query: Query[Integers], chance: Chance, *, sizes: Integers",
}


@pytest.mark.parametrize("planted", BARE)
@pytest.mark.parametrize("name", ["draw", "keep", "another_way"])
def test_a_mechanism_that_takes_bare_numbers_is_found(planted: str, name: str) -> None:
    source = f"class Noise:\n    def {name}(self, {BARE[planted]}) -> Integers:\n        pass"
    assert bare("planted.py", source)


@pytest.mark.parametrize(
    "arguments",
    [
        "query: Query[NDArray[np.int64]], chance: Chance",
        "queries: Sequence[Query[int]], n_positions: int, chance: Chance",
        "pairs: PairQueries, chance: Chance, progress: Callable[[str], None] = print",
    ],
)
def test_a_mechanism_that_takes_questions_is_not_found(arguments: str) -> None:
    assert not bare("planted.py", f"class Noise:\n    def draw(self, {arguments}): pass")
