"""What a hostile reading of 0.1.0 found before the noise, R1 to R7 and D10, from bytes on disk.

Each test is one finding. What is released is compared at so little noise that it is a count.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc

EXACT = hc.Budget(rho=10_000, delta=1e-3)
PLENTY = hc.Budget(rho=1_000_000, delta=1e-2)


def opened(source: Any, folder: Path, user: str = "u", **said: Any) -> Any:
    ledger = folder / f"{len(list(folder.iterdir()))}.db"
    return hc.open(source, user=user, account="a", budget=PLENTY, ledger=ledger, **said)


def counts(data: Any, by: Any = "g", **asked: Any) -> dict[Any, int]:
    """Released counts of users, rounded: the noise is far below one half."""
    plan = data.count_users(by=by, bound=7, spend=EXACT, **asked)
    rows = plan.release().to_arrow().to_pydict()
    name = next(iter(rows))
    return {group: round(count) for group, count in zip(rows[name], rows["count"], strict=True)}


def write_csv(
    folder: Path, lines: list[bytes], name: str = "x.csv", header: bytes = b"u,g"
) -> Path:
    path = folder / name
    path.write_bytes(b"\n".join([header, *lines]) + b"\n")
    return path


BODIES = {
    "plain": [b"u%d,g%d" % (i, i % 2) for i in range(400)],
    "quoted": [b'u%d,"g%d"' % (i, i % 2) for i in range(400)],
    "single quotes": [b"u%d,'g%d'" % (i, i % 2) for i in range(400)],
    "tags": [b"u%d,#g%d" % (i, i % 2) for i in range(400)],
}
VICTIMS = [
    b'v,"x', b"v,it's", b"v,x\"", b'v,"x""y"', b'v,"x\\"y"', b"v,'x,y'", b'v,"x,y"', b"v,#x",
    b"#v,x", b'v,"b"c', b"'v',x", b"v,x\\", b"v,a,b", b"v", b"v,a;b;c;d", b"v,a\tb", b"v,a|b|c",
    b"v,caf\xe9", b"v,a\0b", b'v,"a\nb"', b"v,a\rb", b"v," + b"x" * 3_000_000,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_r1_no_line_renames_or_drops_anybody_elses_group(body: str, tmp_path: Path) -> None:
    """csvdp, csvapi, csvmin, csvleak, csvleak3, csv2 and sniff: 55 cases of theirs and more."""
    plain = BODIES[body]
    want = counts(opened(write_csv(tmp_path, plain), tmp_path))
    assert sorted(want.values()) == [200, 200]
    for index, victim in enumerate(VICTIMS):
        for lines in ([victim, *plain], [*plain, victim]):
            got = counts(opened(write_csv(tmp_path, lines, f"v{index}.csv"), tmp_path))
            assert {group: got.get(group) for group in want} == want, victim[:40]
            assert sum(got.values()) - 400 <= 2, victim[:40]


@pytest.mark.parametrize(
    "victim", [b"alice,oncology,ward 7", b"alice", b'alice,"oncology', b"\xff"]
)
def test_r1_no_message_quotes_a_cell(victim: bytes, tmp_path: Path, headcount_command: str) -> None:
    path = write_csv(tmp_path, [*BODIES["plain"], victim])
    command = [headcount_command, "count-users", str(path), "--user", "nobody", "--by", "g",
               "--ledger", str(tmp_path / "l.db"), "--epsilon", "1", "--budget", "1"]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "no column 'nobody'" in ran.stderr
    for cell in ("alice", "oncology", "u0", "g1"):
        assert cell not in ran.stdout + ran.stderr


def test_r1_a_file_without_header_does_not_tell_its_first_record(tmp_path: Path) -> None:
    path = write_csv(tmp_path, [], header=b"alice,oncology")
    with pytest.raises(hc.UsageError, match="header=False") as raised:
        opened(path, tmp_path)
    assert "oncology" not in str(raised.value)
    named = opened(path, tmp_path, csv=hc.Csv(header=False, columns=["u", "g"]))
    assert named.count_users(by="g", spend=EXACT) is not None


def test_r2_no_folder_turns_a_column_into_text(tmp_path: Path) -> None:
    def put(name: str, users: list[int]) -> None:
        (tmp_path / "e" / f"zip={name}").mkdir(parents=True)
        pq.write_table(pa.table({"u": users}), tmp_path / "e" / f"zip={name}" / "a.parquet")

    def looked() -> tuple[str, dict[Any, int]]:
        data = opened(str(tmp_path / "e" / "*" / "*.parquet"), tmp_path)
        return data.table.columns["zip"], counts(data, "zip", groups=["10115", "01067"])

    put("10115", list(range(100)))
    put("01067", list(range(100, 250)))
    before = looked()
    assert before[1] == {"10115": 100, "01067": 150}
    for odd in ("SW1A", "*", "a?b", "null", "1067", "[0-9]", "x%ffy"):
        put(odd, [999])
        assert looked() == before


def test_r2_folders_are_numbers_when_declared(tmp_path: Path) -> None:
    for day in (1, 2):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"u": [1, 2, day + 2]}), tmp_path / f"day={day}" / "a.parquet")
    data = opened(str(tmp_path / "*" / "*.parquet"), tmp_path, types={"day": "integer"})
    assert counts(data, "day", groups=[1, 2, 3]) == {1: 3, 2: 3, 3: 0}


def test_r3_pandas_objects_are_text_whatever_one_cell_is(tmp_path: Path) -> None:
    import pandas as pd

    for extra in ([], [7], [2.5], [None], ["q"], [b"q"], [object()], [[1]]):
        cells = pd.Series(["1"] * 50 + ["01"] * 30 + [1] * 5 + extra, dtype=object)
        frame = pd.DataFrame({"u": range(len(cells)), "g": cells})
        data = opened(frame, tmp_path)
        assert data.table.columns["g"] == "text"
        assert counts(data, groups=["1", "01"]) == {"1": 55, "01": 30}


def test_r3_files_of_different_schemas_are_refused_by_their_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"u": [1, 2], "g": ["secret", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"u": ["1", "01"], "g": ["secret", "b"]}), tmp_path / "b.parquet")
    with pytest.raises(
        hc.UsageError, match=r"differ in their columns or types: u, first in"
    ) as raised:
        opened(str(tmp_path / "*.parquet"), tmp_path)
    assert "secret" not in str(raised.value)


VERBS: dict[str, Any] = {
    "known": lambda d: d.count_users(by="g", groups=["a", "b"], spend=EXACT),
    "found": lambda d: d.count_users(by="g", spend=EXACT),
    "sample": lambda d: d.count_users(by="g", method="sample", bound=1, spend=hc.Budget(epsilon=3)),
    "equal": lambda d: d.count_users(by="g", method="equal", spend=EXACT),
    "events": lambda d: d.count_events(by="g", spend=EXACT),
    "frequencies": lambda d: d.frequencies(by="g", bound=1, spend=EXACT),
    "distribution": lambda d: d.distribution(by="g", spend=EXACT),
    "quantiles": lambda d: d.quantiles("x", at=[0.5], bounds=(0, 1000), spend=EXACT),
    "profile": lambda d: d.profile(by="g", spend=EXACT),
}


def texts(bad: bytes | None) -> pa.Table:
    groups = [b"a"] * 300 + [b"b"] * 300 + ([] if bad is None else [bad])
    n = len(groups)
    return pa.table(
        {
            "u": pa.array([f"u{i}" for i in range(n)]),
            "g": pa.array(groups, pa.binary()).view(pa.string()),
            "x": pa.array(range(n)),
        }
    )


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("bad", [b"\xff\xfe", b"a\x00b", b"z" * 5_000_000, None])
def test_r4_no_text_stops_a_verb(verb: str, bad: bytes | None, tmp_path: Path) -> None:
    table = texts(bad)
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", table):
        assert len(VERBS[verb](opened(source, tmp_path)).release()) > 0


@pytest.mark.parametrize("column", ["u", "g"])
def test_r4_text_that_is_not_utf8_is_missing(column: str, tmp_path: Path) -> None:
    table = texts(b"c")
    odd = pa.array([b"\xff" if i == 3 else b"u%d" % i for i in range(601)], pa.binary())
    table = table.set_column(table.schema.get_field_index(column), column, odd.view(pa.string()))
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", table):
        got = counts(opened(source, tmp_path), groups=["a", "b", "u4", None])
        a, u4, nobody = (299, 0, 0) if column == "u" else (0, 1, 1)
        assert got == {"a": a, "b": 300 if column == "u" else 0, "u4": u4, None: nobody}


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_r4_r5_no_time_stops_a_cut(unit: str, zone: str | None, tmp_path: Path) -> None:
    """fuzz2, fuzz3 and pdns: every unit over its whole range, from Arrow and from Parquet."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    days = [(1_700_000_000 + 86_400 * (i % 2)) * per_second for i in range(200)]
    ends = [2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63), -1]
    times = pa.array([*days, *ends], pa.int64()).view(pa.timestamp(unit, zone))
    table = pa.table({"u": [f"u{i}" for i in range(len(times))], "g": times})
    sources: list[Any] = [table]
    if unit != "s":
        pq.write_table(table, tmp_path / "t.parquet", version="2.6")
        sources.append(tmp_path / "t.parquet")
    for source in sources:
        for to in ("hour", "day", "week", "month", "quarter", "year"):
            got = counts(opened(source, tmp_path), hc.truncate("g", to))
            assert sum(got.values()) in range(195, 208), to
            assert max(got.values()) >= 100


def test_r5_pandas_times_are_counted(tmp_path: Path) -> None:
    import pandas as pd

    times = pd.date_range("2024-01-01", periods=700, freq="h")
    frame = pd.DataFrame({"u": [f"u{i}" for i in range(700)], "g": times})
    for unit in ("s", "ms", "us", "ns"):
        data = opened(frame.assign(g=times.astype(f"datetime64[{unit}]")), tmp_path)
        assert sum(counts(data, hc.truncate("g", "week")).values()) == 700


def test_r6_a_view_that_folds_case_cannot_name_users(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "c.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table raw (u varchar, g varchar)")
        connection.execute("create view folded as select u collate nocase as u, g from raw")
        connection.execute("create view again as select * from folded")
        connection.execute("create view accents as select u collate noaccent as u, g from raw")
        connection.execute("create view lowered as select lower(u) as u, g from raw")
        connection.execute("create view cast_down as select u::integer as u, g from raw")
        connection.execute("create view plain as select u, g from raw where g <> ''")
    for view in ("folded", "again", "accents"):
        with pytest.raises(hc.UsageError, match="treats different texts as equal"):
            opened(f"duckdb://{path}?table={view}", tmp_path)
    for view in ("lowered", "cast_down"):
        with pytest.raises(hc.UsageError, match="can give two users one value"):
            opened(f"duckdb://{path}?table={view}", tmp_path)
    assert opened(f"duckdb://{path}?table=plain", tmp_path)


MIXING = {
    "join": "select r.u, r.g from raw r join raw s using (g)",
    "window": "select u, g, row_number() over (partition by g) as n from raw",
    "aggregate": "select u, max(g) as g from raw group by u",
    "distinct": "select distinct u, g from raw",
    "subquery": "select u, g from raw where g = (select max(g) from raw)",
}
FLEETING = {
    "limit": "select u, g from raw limit 3",
    "sample": "select u, g from raw using sample 10%",
    "random": "select u, g from raw where random() < 0.5",
}


@pytest.mark.parametrize("name", [*MIXING, *FLEETING])
def test_r7_views_that_mix_users_are_refused(name: str, tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "v.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table raw as select 'u' || i as u, 'g' as g from range(50) t(i)")
        connection.execute(f"create view v as {({**MIXING, **FLEETING})[name]}")
    source = f"duckdb://{path}?table=v"
    with pytest.raises(hc.UsageError, match="This view uses"):
        opened(source, tmp_path)
    if name in FLEETING:
        with pytest.raises(hc.UsageError, match="each time it is read"):
            opened(source, tmp_path, trusted_view="Ann Lee: it is fine")


def test_r7_who_vouches_for_a_view_is_in_the_ledger_and_the_guarantee(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "v.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table raw as select 'u' || i as u, 'g' as g from range(50) t(i)")
        connection.execute(f"create view v as {MIXING['aggregate']}")
    data = opened(f"duckdb://{path}?table=v", tmp_path, trusted_view="Ann Lee: one row a user")
    plan = data.count_users(by="g", groups=["g"], spend=EXACT)
    release = plan.release()
    assert "Ann Lee: one row a user" in plan.explain()
    assert "vouched for: Ann Lee: one row a user" in release.guarantee
    (entry,) = [e for e in data.ledger.entries("a") if e.about]
    assert entry.about["trusted_view"] == "Ann Lee: one row a user"


SPILLING = """
import os, sys, threading, time
import headcount as hc
data = hc.open("e.parquet", user="user", account="a", budget=hc.Budget(rho=100, delta=1e-6),
               ledger="l.db", memory="120MB")
data.table.engine.connection.con.execute("set threads=1")
print("ready", flush=True)
data.count_users(by="group", bound=3, spend=hc.Budget(rho=1)).release()
print("done", flush=True)
"""


def test_d10_spilled_rows_are_private_and_do_not_stay(tmp_path: Path) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    users = pa.array([f"patient-{i:08d}@hospital.example" for i in range(200_000)])
    groups = pa.array([f"diagnosis-{i}" for i in range(5_000)])
    n = 3_000_000
    pq.write_table(
        pa.table(
            {
                "user": users.take(pa.array(rng.integers(0, len(users), n))),
                "group": groups.take(pa.array(rng.integers(0, len(groups), n))),
            }
        ),
        tmp_path / "e.parquet",
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "HEADCOUNT_TMP": str(scratch)}
    command = [sys.executable, "-c", SPILLING]

    def spilled() -> list[Path]:
        found = []
        for path in scratch.rglob("*"):
            with suppress(FileNotFoundError):
                found += [path] if path.is_file() and path.stat().st_size else []
        return found

    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE) as ran:
        seen: list[Path] = []
        while ran.poll() is None and not seen:
            seen = spilled()
            time.sleep(0.005)
        assert seen, "DuckDB did not spill, so this test shows nothing"
        ran.send_signal(signal.SIGKILL)
    assert {path.name for path in tmp_path.iterdir()} >= {"e.parquet", "scratch"}
    assert not (tmp_path / ".tmp").exists()
    (root,) = scratch.iterdir()
    for folder in (root, *root.iterdir()):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert spilled(), "killed, so its folder is still there"
    ran_again = subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=300)
    assert ran_again.returncode == 0
    assert not spilled()
    assert not list(root.iterdir())
