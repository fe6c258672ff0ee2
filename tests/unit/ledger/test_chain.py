from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from headcount.errors import LedgerError
from headcount.ledger.heads import LINE, HeadFile
from headcount.ledger.journal import FIELDS, HASHED, Head, append, hash_of, start
from headcount.ledger.ledger import Ledger
from headcount.ledger.schema import VERSION_TABLE, metadata
from headcount.ledger.stores.migrate import CURRENT, STEPS
from headcount.privacy.budget import Budget


def test_no_two_entries_have_the_same_spelling() -> None:
    assert hash_of(["a", "bc"]) != hash_of(["ab", "c"])
    assert hash_of(["a", ""]) != hash_of(["", "a"])
    assert hash_of(["1:a", "b"]) != hash_of(["1", "a1:b"])


def test_the_hash_covers_every_field_in_a_fixed_order() -> None:
    assert (*HASHED, "hash") == FIELDS
    assert HASHED == (
        "sequence", "kind", "account", "key", "analyst", "neighbours", "verb",
        "digest", "about", "event", "rho", "delta", "at", "previous",
    )  # fmt: skip
    values = list(range(len(HASHED)))
    for place in range(len(values)):
        changed = list(values)
        changed[place] = 99
        assert hash_of(changed) != hash_of(values)


def test_the_spelling_never_changes() -> None:
    """A ledger of any age must verify."""
    assert hash_of([1, "charge", "é"]) == (
        "e93708d54658e7ee5030b7845bb330fb0cd80e5af3c55c574106d9590dcf5fed"
    )


def test_each_entry_holds_the_hash_of_the_one_before() -> None:
    head = start("id")
    (_, first), after_first = append(head, kind="cover", account="a", analyst="ann")
    (_, second), _ = append(after_first, kind="cover", account="a", analyst="ann")
    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert first["previous"] == head.hash
    assert second["previous"] == first["hash"] == after_first.hash
    assert start("other").hash != head.hash


@pytest.fixture
def head_file(tmp_path: Path) -> HeadFile:
    return HeadFile(tmp_path / "ledger.head", "ledger.db")


def test_a_head_moves_forward_only(head_file: HeadFile) -> None:
    assert head_file.read() is None
    for sequence in (1, 2, 5, 3):
        head_file.advance(Head("id", sequence, f"hash {sequence}"))
    assert head_file.read() == Head("id", 5, "hash 5")
    assert oct(head_file.path.stat().st_mode)[-3:] == "600"


def test_a_head_of_another_ledger_is_refused(head_file: HeadFile) -> None:
    head_file.advance(Head("id", 1, "hash"))
    with pytest.raises(LedgerError, match="Another ledger was put in the place"):
        head_file.advance(Head("other", 2, "hash"))


def test_a_write_that_was_cut_short_leaves_the_line_before(head_file: HeadFile) -> None:
    head_file.advance(Head("id", 1, "one"))
    head_file.advance(Head("id", 2, "two"))
    with head_file.path.open("r+b") as file:
        file.write(b'{"ledger": "id", "sequence": 9')  # line 0 held entry 2
    assert head_file.read() == Head("id", 1, "one")
    text = head_file.path.read_bytes()
    head_file.path.write_bytes(text.replace(b'"one"', b'"two"'))
    with pytest.raises(LedgerError, match="cannot be read"):
        head_file.read()
    assert len(text) == 2 * LINE


def test_heads_are_kept_apart_by_address_and_by_ledger(tmp_path: Path) -> None:
    first, second = Ledger(tmp_path / "a.db"), Ledger(tmp_path / "b.db")
    assert not set(first._heads.paths) & set(second._heads.paths)
    named = Ledger(tmp_path / "a.db", heads=tmp_path / "mine")
    assert {path.parent for path in named._heads.paths} == {tmp_path / "mine"}


def test_a_link_to_a_ledger_is_that_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    assert Ledger(tmp_path / "link.db").address == ledger.address


def test_migrations_make_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_account("web", Budget(rho=1))
    with ledger._store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == CURRENT
    config = Config()
    config.set_main_option("script_location", str(STEPS))
    assert ScriptDirectory.from_config(config).get_heads() == [CURRENT]


def test_a_ledger_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path).open_account("web", Budget(rho=1))
    raw = sqlite3.connect(path)
    raw.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    raw.commit()
    raw.close()
    with pytest.raises(LedgerError, match=r"newer version of headcount .*Upgrade"):
        Ledger(path)


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE accounts (customer text)")
    raw.commit()
    with pytest.raises(LedgerError, match=r"has tables of the names .*accounts"):
        Ledger(path)
    assert raw.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)
    raw.close()


def test_an_error_of_the_driver_leaves_no_trace(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_account("web", Budget(rho=1))
    ledger._store.engine.dispose()
    for ending in ("", "-wal", "-shm"):
        (tmp_path / f"ledger.db{ending}").unlink(missing_ok=True)
    (tmp_path / "ledger.db").write_bytes(b"overwritten by something else, badly" * 100)
    with pytest.raises(LedgerError, match="it is not a ledger") as caught:
        ledger.account("web")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(LedgerError, match=r"permissions|HEADCOUNT_HEADS"):
        Ledger(tmp_path / "ledger.db")


def test_sqlalchemy_compiles_without_hidden_values(tmp_path: Path) -> None:
    """Statements run on the driver directly: a value that SQLAlchemy holds back would be lost."""
    from headcount.ledger import charging, journal, opening, reading

    engine = Ledger(tmp_path / "ledger.db")._store.engine
    for module in (charging, journal, opening, reading):
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, sa.sql.ClauseElement):
                compiled = value.compile(dialect=engine.dialect)
                assert not [v for v in compiled.params.values() if v is not None], name
