"""Parts: one charge may pay for several rounds, each of which stores what it shows, once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from headcount.ledger.stores.migrations.functions_0005 import OFFERED, functions

revision = "0005"
down_revision = "0004"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
REFUSED = "parts: rows of a ledger are kept as they are"


def upgrade() -> None:
    """Entries and stored results stay as they are."""
    op.create_table(
        "parts",
        sa.Column("sequence", SEQUENCE, nullable=False, autoincrement=False),
        sa.Column("part", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("sequence", "part"),
    )
    only = sa.text("kind = 'part'")
    op.create_index(
        "one_entry_per_part",
        "entries",
        ["event"],
        unique=True,
        sqlite_where=only,
        postgresql_where=only,
    )
    if op.get_bind().dialect.name == "sqlite":
        for act in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER parts_refuses_{act.lower()} BEFORE {act} ON parts "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            )
    else:
        _on_the_server()


def _on_the_server() -> None:
    for act in ("UPDATE", "DELETE", "TRUNCATE"):
        each = "STATEMENT" if act == "TRUNCATE" else "ROW"
        op.execute(
            f"CREATE TRIGGER parts_refuses_{act.lower()} BEFORE {act} ON parts "
            f"FOR EACH {each} EXECUTE FUNCTION ledger_keeps_rows()"
        )
    connection = op.get_bind()
    schema = connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar_one()
    for text in functions(str(schema)):
        # Without a look for variables of SQLAlchemy's: casts have colons.
        connection.exec_driver_sql(text.replace("%", "%%"))
    for function in OFFERED:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    _give_rights(connection)


def _give_rights(connection: sa.Connection) -> None:
    """Who could read entries may read parts, and who could store results may store parts."""
    in_schema = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
    name = (
        "SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' "
        "ELSE quote_ident(pg_get_userbyid(a.grantee)) END"
    )
    readers = connection.exec_driver_sql(
        f"{name} FROM pg_class c, aclexplode(c.relacl) a WHERE c.relnamespace = {in_schema} "
        "AND c.relname = 'entries' AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner"
    ).scalars()
    for reader in sorted(readers.all()):
        op.execute(f"GRANT SELECT ON parts TO {reader}")
    storers = connection.exec_driver_sql(
        f"{name} FROM pg_proc p, aclexplode(p.proacl) a WHERE p.pronamespace = {in_schema} "
        "AND p.proname = 'ledger_store' AND a.grantee <> p.proowner AND a.grantee <> 0"
    ).scalars()
    for storer in sorted(storers.all()):
        for function in OFFERED:
            op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {storer}")


def downgrade() -> None:
    """Refuse: a ledger only grows."""
    raise NotImplementedError("a ledger does not go back to an earlier schema")
