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
                _drop(self.engine, name)

    def keep(self, expr: Any) -> Any:
        """Run a query into a temporary table, and stand for it from there on."""
        import ibis.expr.operations as ops

        name = f"headcount_{token_hex(8)}"
        self._names.append(name)
        engine: Any = self.engine
        with withheld():
            if engine.name == "postgres":
                with engine.adbc.cursor() as cursor:
                    cursor.execute(f"create temporary table {name} as {_sql(engine, expr)}")
                    cursor.execute(f"analyze {name}")
            elif engine.name == "spark":
                rows = engine.session.sql(_sql(engine, expr))
                rows.cache().createOrReplaceTempView(name)
            else:
                query = f"create temporary table {name} as {_sql(engine, expr)}"
                engine.connection.con.execute(query)
        return ops.DatabaseTable(
            name=name, schema=expr.schema(), source=engine.connection, namespace=ops.Namespace()
        ).to_expr()


def _sql(engine: Any, expr: Any) -> str:
    if engine.name != "postgres":
        engine.connection._register_in_memory_tables(expr)
    return str(engine.connection.compile(expr))


def _drop(engine: Any, name: str) -> None:
    if engine.name == "postgres":
        with engine.adbc.cursor() as cursor:
            cursor.execute(f"drop table if exists {name}")
    elif engine.name == "spark":
        engine.session.catalog.uncacheTable(name)
        engine.session.catalog.dropTempView(name)
    else:
        engine.connection.con.execute(f"drop table if exists {name}")
