"""A table opened for counting: which column names the user, and which rows take part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headcount.errors import SchemaError, UsageError
from headcount.tables.engine import Engine
from headcount.tables.identity import Identity
from headcount.tables.kinds import Kind, missing
from headcount.tables.rules import check_user, user_rules
from headcount.tables.source import CALLED, NOTHING, Options
from headcount.tables.source_check import SourceCheck
from headcount.tables.sources import find_source
from headcount.tables.where import parse_where
from headcount.tables.windows import check_window, window_number, window_rule, within

if TYPE_CHECKING:
    from headcount.privacy.during import During


@dataclass(frozen=True, repr=False, eq=False)
class UserTable:
    """Rows that each belong to one user. Opening one reads the schema and no row."""

    user: str
    expr: Any
    engine: Engine
    columns: Mapping[str, Kind]
    source: str
    check: SourceCheck
    """Refuses another source than was opened, or one that was made to mix users since."""
    where: str | None = None
    rules: tuple[str, ...] = field(default=())
    lists_columns: bool = True
    identity: Identity = field(default_factory=Identity)
    said: tuple[tuple[str, str], ...] = ()
    """What whoever opened it said of how it is read, spelled for the request."""
    called: tuple[str, ...] = (CALLED,)
    """What a query calls it: its name, after its schema where that was given."""
    windows: During | None = None
    """The windows that its rows are in, where its account has windows."""

    def __repr__(self) -> str:
        chosen = f" where {self.where}" if self.where else ""
        return (
            f"UserTable({self.source}{chosen}, one user per {self.user}, "
            f"{len(self.columns)} columns, on {self.engine.name})"
        )

    def kind(self, column: str) -> Kind:
        """What a column holds, or a refusal that lists the columns there are."""
        if column not in self.columns:
            raise SchemaError(missing(column, self.columns if self.lists_columns else ()))
        return self.columns[column]

    def narrowed(self, where: str) -> UserTable:
        """Only the rows that a public condition chooses; there is one at most."""
        if not where.strip():
            raise UsageError("The where clause is empty; leave it out. Nothing was charged.")
        if self.where is not None:
            raise UsageError(
                "The table was opened with a condition of its own, and there can be one. Open it "
                f"with both: where={f'({self.where}) and ({where})'!r}. {NOTHING}"
            )
        listed = self.lists_columns
        chosen = parse_where(where, self.expr, self.columns, self.engine, lists_columns=listed)
        rows = self.expr.filter(chosen)
        return replace(
            self,
            expr=rows,
            check=replace(self.check, rows=rows),
            where=where,
            rules=(*self.rules, f"Only rows where {where} take part."),
        )

    def during(self, windows: During) -> UserTable:
        """Only the rows of these windows, by their own times."""
        kind = self.kind(windows.window.column)
        check_window(windows.window, kind)
        rows = self.expr.filter(within(self.engine, self.expr, kind, windows))
        return replace(
            self,
            expr=rows,
            check=replace(self.check, rows=rows),
            windows=windows,
            rules=(*self.rules, window_rule(windows, kind)),
        )

    def window_number(self) -> Any:
        """Which of the windows a row is in, from 0 on."""
        assert self.windows is not None  # noqa: S101  asked where there are several
        kind = self.kind(self.windows.window.column)
        return window_number(self.engine, self.expr, kind, self.windows)


def listed_columns(source: object, options: Options | None = None) -> dict[str, Kind] | None:
    """The names and kinds of columns, from metadata alone; nothing where that may hold a record."""
    opened = find_source(source, "", options or Options())
    if not opened.lists_columns:
        return None
    return {**opened.engine.kinds(opened.expr), **dict.fromkeys(opened.others, Kind.OTHER)}


def open_table(
    source: object, *, user: str, where: str | None = None, options: Options | None = None
) -> UserTable:
    """Open a table for counting, without reading a row.

    ``source`` is the path or glob of Parquet or CSV files, a ``duckdb://`` or ``postgres://``
    address that ends in ``?table=name``, an Arrow, pandas or Polars table, an Ibis table, or a
    Spark data frame. Columns of CSV files are text unless their types are declared.
    """
    options = options or Options()
    opened = find_source(source, user, options)
    engine, expr = opened.engine, opened.expr
    columns = {**engine.kinds(expr), **dict.fromkeys(opened.others, Kind.OTHER)}
    if user not in columns:
        raise SchemaError(missing(user, columns if opened.lists_columns else ()))
    check_user(user, columns[user])
    trusted = options.trusted_view is not None
    if opened.is_view:
        engine.check_rows(expr, user, trusted=trusted)
    rows = expr.filter(expr[user].notnull())
    if columns[user] is Kind.TEXT:
        rows = rows.filter(engine.readable(rows[user]))
    rules = (*opened.rules, *user_rules(user, columns[user]))
    if trusted:
        rules += (f"That no row of the view depends on two users: {options.trusted_view}.",)
    table = UserTable(
        user,
        rows,
        engine,
        columns,
        opened.name,
        SourceCheck.opened(opened, rows, user, trusted=trusted),
        rules=rules,
        lists_columns=opened.lists_columns,
        identity=opened.identity,
        said=options.spelled(),
        called=opened.called,
    )
    return table if where is None else table.narrowed(where)
