"""Windows: an account may have a budget for each window of time, which a charge names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from headcount.ledger.stores.migrations.functions_0006 import functions
from headcount.ledger.stores.migrations.rights import let_readers_read

revision = "0006"
down_revision = "0005"

TABLES = ("per_window", "windows")
BACKWARDS = "NEW.rho_spent < OLD.rho_spent OR NEW.delta_spent < OLD.delta_spent"
REWRITTEN = (
    "NEW.account <> OLD.account OR NEW.level <> OLD.level OR NEW.number <> OLD.number "
    "OR NEW.rho_limit <> OLD.rho_limit OR NEW.delta_limit <> OLD.delta_limit"
)


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _number(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def upgrade() -> None:
    """Entries and accounts stay as they are: they have no windows."""
    op.create_table(
        "per_window",
        *_text("account", "level", "time_column", "zone", "stated_delta"),
        *_number("rho_limit", "delta_limit"),
        sa.PrimaryKeyConstraint("account", "level", name="per_window_pkey"),
    )
    op.create_table(
        "windows",
        *_text("account", "level"),
        *_number("number", "rho_limit", "delta_limit", "rho_spent", "delta_spent"),
        sa.PrimaryKeyConstraint("account", "level", "number", name="windows_pkey"),
        *(
            sa.CheckConstraint(
                f"{unit}_spent >= 0 AND {unit}_spent <= {unit}_limit", name=f"{unit}_within_window"
            )
            for unit in ("rho", "delta")
        ),
        # In the order of its key: ten years of days are one run of pages.
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "sqlite":
        _in_a_file()
    else:
        _on_the_server()


def _in_a_file() -> None:
    def refuse(table: str, act: str, when: str = "") -> None:
        op.execute(
            f"CREATE TRIGGER {table}_refuses_{act.lower()} BEFORE {act} ON {table} {when} "
            f"BEGIN SELECT RAISE(ABORT, '{table}: rows of a ledger are kept as they are'); END"
        )

    refuse("per_window", "UPDATE")
    refuse("windows", "UPDATE", f"WHEN {BACKWARDS} OR {REWRITTEN}")
    for table in TABLES:
        refuse(table, "DELETE")


def _on_the_server() -> None:
    def refuse(table: str, act: str, when: str = "") -> None:
        each = "STATEMENT" if act == "TRUNCATE" else "ROW"
        op.execute(
            f"CREATE TRIGGER {table}_refuses_{act.lower()} BEFORE {act} ON {table} "
            f"FOR EACH {each} {when} EXECUTE FUNCTION ledger_keeps_rows()"
        )

    refuse("per_window", "UPDATE")
    refuse("windows", "UPDATE", f"WHEN ({BACKWARDS} OR {REWRITTEN})")
    for table in TABLES:
        refuse(table, "DELETE")
        refuse(table, "TRUNCATE")
    connection = op.get_bind()
    schema = connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar_one()
    for text in functions(str(schema)):
        # Without a look for variables of SQLAlchemy's: casts have colons.
        connection.exec_driver_sql(text.replace("%", "%%"))
    let_readers_read(connection, TABLES)


def downgrade() -> None:
    """Refuse: a ledger only grows."""
    raise NotImplementedError("a ledger does not go back to an earlier schema")
