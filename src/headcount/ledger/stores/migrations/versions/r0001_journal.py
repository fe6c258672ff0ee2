"""The journal, and the tables drawn from it. Entries are added and never changed."""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
KEPT = ("ledger", "entries", "covers", "results")
COUNTED = ("accounts", "quotas")


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _number(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def upgrade() -> None:
    """Make the tables, the triggers, and the ledger's own name."""
    op.create_table("ledger", *_text("id"), sa.PrimaryKeyConstraint("id"))
    op.create_table(
        "entries",
        sa.Column("sequence", SEQUENCE, nullable=False, autoincrement=False),
        *_text("kind", "account", "key", "analyst", "neighbours", "verb"),
        *_text("digest", "about", "event"),
        *_number("rho", "delta"),
        *_text("at", "previous", "hash"),
        sa.PrimaryKeyConstraint("sequence"),
        sa.CheckConstraint("rho >= 0 AND delta >= 0", name="costs_are_not_negative"),
    )
    for name, columns, kind in (
        ("one_charge_per_key", ["account", "key"], "charge"),
        ("one_result_per_charge", ["event"], "result"),
    ):
        only = sa.text(f"kind = '{kind}'")
        op.create_index(
            name, "entries", columns, unique=True, sqlite_where=only, postgresql_where=only
        )
    op.create_table(
        "accounts",
        *_text("name", "neighbours", "stated_delta"),
        *_number("rho_limit", "delta_limit", "rho_spent", "delta_spent", "has_quotas"),
        sa.PrimaryKeyConstraint("name"),
        *_within("limit"),
    )
    op.create_table(
        "quotas",
        *_text("account", "analyst"),
        *_number("rho_limit", "delta_limit", "rho_spent", "delta_spent"),
        sa.PrimaryKeyConstraint("account", "analyst"),
        *_within("quota"),
    )
    op.create_table("covers", *_text("source", "account"), sa.PrimaryKeyConstraint("source"))
    op.create_table(
        "results",
        sa.Column("sequence", SEQUENCE, nullable=False, autoincrement=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("sequence"),
    )
    if op.get_bind().dialect.name == "sqlite":
        _guard_sqlite()
    else:
        _guard_postgres()
    op.execute(sa.text("INSERT INTO ledger (id) VALUES (:id)").bindparams(id=uuid.uuid4().hex))


def _within(what: str) -> list[sa.CheckConstraint]:
    return [
        sa.CheckConstraint(
            f"{unit}_spent >= 0 AND {unit}_spent <= {unit}_limit", name=f"{unit}_within_{what}"
        )
        for unit in ("rho", "delta")
    ]


BACKWARDS = "NEW.rho_spent < OLD.rho_spent OR NEW.delta_spent < OLD.delta_spent"
REWRITTEN = (
    "NEW.name <> OLD.name OR NEW.neighbours <> OLD.neighbours "
    "OR NEW.stated_delta <> OLD.stated_delta OR NEW.rho_limit <> OLD.rho_limit "
    "OR NEW.delta_limit <> OLD.delta_limit OR NEW.has_quotas < OLD.has_quotas"
)


def _guard_sqlite() -> None:
    def refuse(table: str, act: str, when: str = "") -> None:
        op.execute(
            f"CREATE TRIGGER {table}_refuses_{act.lower()} BEFORE {act} ON {table} {when} "
            f"BEGIN SELECT RAISE(ABORT, '{table}: rows of a ledger are kept as they are'); END"
        )

    for table in KEPT:
        refuse(table, "UPDATE")
        refuse(table, "DELETE")
    refuse("accounts", "UPDATE", f"WHEN {BACKWARDS} OR {REWRITTEN}")
    refuse("quotas", "UPDATE", f"WHEN {BACKWARDS}")
    for table in COUNTED:
        refuse(table, "DELETE")


def _guard_postgres() -> None:
    op.execute(
        "CREATE FUNCTION ledger_keeps_rows() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || "
        "': rows of a ledger are kept as they are'; END $$"
    )

    def refuse(table: str, act: str, when: str = "") -> None:
        each = "STATEMENT" if act == "TRUNCATE" else "ROW"
        op.execute(
            f"CREATE TRIGGER {table}_refuses_{act.lower()} BEFORE {act} ON {table} "
            f"FOR EACH {each} {when} EXECUTE FUNCTION ledger_keeps_rows()"
        )

    for table in KEPT:
        refuse(table, "UPDATE")
    refuse("accounts", "UPDATE", f"WHEN ({BACKWARDS} OR {REWRITTEN})")
    refuse("quotas", "UPDATE", f"WHEN ({BACKWARDS})")
    for table in (*KEPT, *COUNTED):
        refuse(table, "DELETE")
        refuse(table, "TRUNCATE")


def downgrade() -> None:
    """Refuse: a ledger only grows."""
    raise NotImplementedError("a ledger does not go back to an earlier schema")
