"""Tables that one release makes in the engine, computed once and dropped when it ends."""

from __future__ import annotations

from contextlib import suppress
from secrets import token_hex
from typing import Any

from headcount.tables.engine import Engine, withheld


class Store:
    """Keeps the answer of a query in the engine, on the connection that runs the next one.

    Nothing is kept in Python, and nothing outlives the ``with`` block.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._names: list[str] = []

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(self._names):
            with suppress(Exception):
                self.engine.drop(name)

    def keep(self, expr: Any) -> Any:
        """Run a query into a temporary table, and stand for it from there on."""
        import ibis.expr.operations as ops

        name = f"headcount_{token_hex(8)}"
        self._names.append(name)
        with withheld():
            self.engine.keep(expr, name)
        return ops.DatabaseTable(
            name=name,
            schema=expr.schema(),
            source=self.engine.connection,
            namespace=ops.Namespace(),
        ).to_expr()
