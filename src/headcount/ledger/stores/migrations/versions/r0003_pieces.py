"""Results in pieces; on PostgreSQL, functions that charge and store in place of rights to write."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from headcount.ledger.stores.migrations.functions_0003 import INSIDE, OFFERED, functions

revision = "0003"
down_revision = "0002"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
TABLES = ("ledger", "entries", "accounts", "quotas", "covers", "results", "pieces")
BEGINS = "entries: the first entry of a ledger is 1"
REFUSED = "pieces: rows of a ledger are kept as they are"


def upgrade() -> None:
    """Entries and stored results stay as they are."""
    op.create_table(
        "pieces",
        sa.Column("sequence", SEQUENCE, nullable=False, autoincrement=False),
        sa.Column("piece", sa.Integer, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("sequence", "piece"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE TRIGGER entries_begin_at_one BEFORE INSERT ON entries WHEN NEW.sequence < 1 "
            f"BEGIN SELECT RAISE(ABORT, '{BEGINS}'); END"
        )
        for act in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER pieces_refuses_{act.lower()} BEFORE {act} ON pieces "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            )
    else:
        _on_the_server()


def _on_the_server() -> None:
    op.execute("ALTER TABLE entries ADD CONSTRAINT entries_begin_at_one CHECK (sequence > 0)")
    for act in ("UPDATE", "DELETE", "TRUNCATE"):
        each = "STATEMENT" if act == "TRUNCATE" else "ROW"
        op.execute(
            f"CREATE TRIGGER pieces_refuses_{act.lower()} BEFORE {act} ON pieces "
            f"FOR EACH {each} EXECUTE FUNCTION ledger_keeps_rows()"
        )
    connection = op.get_bind()
    schema = connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar_one()
    for text in functions(str(schema)):
        # Without a look for variables of SQLAlchemy's: casts have colons.
        connection.exec_driver_sql(text.replace("%", "%%"))
    op.execute(
        "CREATE CONSTRAINT TRIGGER pieces_need_a_result AFTER INSERT ON pieces "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_needs_result()"
    )
    for function in (*INSIDE, *OFFERED):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    _take_rights_to_write(connection)


def _take_rights_to_write(connection: sa.Connection) -> None:
    """Who could insert entries may charge through the function, and nobody but the owner writes."""
    owner = connection.exec_driver_sql("SELECT current_user").scalar_one()
    found = connection.exec_driver_sql(
        "SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' "
        "ELSE quote_ident(pg_get_userbyid(a.grantee)) END, a.privilege_type "
        "FROM pg_class c, aclexplode(c.relacl) a "
        "WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) "
        "AND c.relname = 'entries' AND a.grantee <> c.relowner"
    ).all()
    quoted = connection.dialect.identifier_preparer.quote(str(owner))
    for name, right in sorted(found):
        if right == "SELECT":
            op.execute(f"GRANT SELECT ON pieces TO {name}")
        if right == "INSERT" and name != "PUBLIC":
            for function in OFFERED:
                op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {name}")
    writers = {name for name, right in found if right != "SELECT"} - {quoted}
    for name in sorted(writers):
        for table in TABLES:
            op.execute(
                f"REVOKE INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES ON {table} "
                f"FROM {name}"
            )
        op.execute(
            "REVOKE UPDATE (rho_spent, delta_spent) ON accounts FROM "
            f"{name}; REVOKE UPDATE (rho_spent, delta_spent) ON quotas FROM {name}"
        )


def downgrade() -> None:
    """Refuse: a ledger only grows."""
    raise NotImplementedError("a ledger does not go back to an earlier schema")
