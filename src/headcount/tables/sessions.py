"""Whose turn it is on an engine: every release has a connection of its own, from first to last.

Two releases that shared one would be handed each other's rows. So a release runs inside a session,
and whatever its thread asks of the engine meanwhile goes to that session's connection. Temporary
tables live and die with it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_LOCKS: dict[int, tuple[weakref.ref[Any], threading.RLock]] = {}
_MAKING = [threading.Lock()]


def lock_of(connection: Any) -> threading.RLock:
    """The one lock of an Ibis connection, however many engines were made of it.

    By the object itself: two connections of Ibis may be equal.
    """
    with _MAKING[0]:
        known = _LOCKS.get(id(connection))
        if known is None or known[0]() is not connection:
            known = weakref.ref(connection), threading.RLock()
            _LOCKS[id(connection)] = known
            for number in [number for number, (ref, _) in _LOCKS.items() if ref() is None]:
                del _LOCKS[number]
        return known[1]


def _begin_child() -> None:
    # A thread that does not exist in the child may hold any of them.
    _MAKING[0] = threading.Lock()
    _LOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


class Current(Generic[T]):
    """The session of the thread that asks, if it is in one."""

    def __init__(self) -> None:
        self._here = threading.local()

    @property
    def session(self) -> T | None:
        """The innermost session of this thread."""
        return getattr(self._here, "session", None)

    @contextmanager
    def within(self, session: T) -> Iterator[None]:
        """Make a session this thread's own until the block ends."""
        before = self.session
        self._here.session = session
        try:
            yield
        finally:
            self._here.session = before


class Relations:
    """Small public tables that queries name, kept here until a session runs such a query.

    Making one touches no connection, so that a plan disturbs nobody.
    """

    def __init__(self) -> None:
        self._tables: dict[str, pa.Table] = {}

    def add(self, connection: Any, name: str, table: pa.Table) -> Any:
        """A table expression of this name; the rows go with the last query that holds it."""
        import ibis
        import ibis.expr.operations as ops

        op = ops.DatabaseTable(
            name=name,
            schema=ibis.Schema.from_pyarrow(table.schema),
            source=connection,
            namespace=ops.Namespace(),
        )
        self._tables[name] = table
        weakref.finalize(op, self._tables.pop, name, None)
        return op.to_expr()

    def own_in(self, expr: Any) -> dict[str, pa.Table]:
        """Those of these tables that an expression reads."""
        import ibis.expr.operations as ops

        return {
            op.name: self._tables[op.name]
            for op in expr.op().find(ops.DatabaseTable)
            if op.name in self._tables
        }

    def named_in(self, expr: Any) -> dict[str, pa.Table]:
        """The tables that an expression reads: ours, and those that Ibis keeps in memory."""
        import ibis.expr.operations as ops

        found = self.own_in(expr)
        for op in expr.op().find(ops.InMemoryTable):
            found[op.name] = op.data.to_pyarrow(op.schema)
        return found
