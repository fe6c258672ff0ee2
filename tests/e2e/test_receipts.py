"""Two hundred random releases, each with a receipt that verifies beside the rows that were written.

Verb, arguments, spend, relation, format of the rows, and whether a release was drawn just now,
shown again or read back from the ledger are drawn at random; a failure says the seed.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import zipfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.releases.stored import stored_release
from headcount.releases.verbs import VERBS

N = 200
PLACES = ["p0", "p1", "=p2", "", "p4\n", "'-p5"]
"""Some that a spreadsheet would run, which a CSV file has an apostrophe before."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [(f"u{i}", PLACES[j], i % 9) for i in range(90) for j in range(6) if i >= 12 * j]
    user, place, size = zip(*rows, strict=True)
    path = tmp_path_factory.mktemp("receipts") / "rows.parquet"
    pq.write_table(pa.table({"user": user, "place": place, "size": size}), path)
    return path


def some_call(chooser: random.Random) -> tuple[str, dict[str, Any]]:
    """A verb and arguments that it takes in an account of either relation."""
    verb = chooser.choice(list(VERBS))
    listed = {"by": "place", "groups": PLACES[: chooser.randint(2, 6)]}
    calls: dict[str, list[dict[str, Any]]] = {
        "count_users": [
            listed,
            {**listed, "bound": chooser.randint(1, 3)},
            {"by": "place", "bound": 2, "method": "threshold"},
            {"by": "place", "bound": 1, "method": "laplace"},
        ],
        "count_events": [{**listed, "bound": chooser.randint(1, 3)}, listed],
        "distribution": [listed],
        "frequencies": [{"by": "place", "bound": 3, "at_most": chooser.randint(20, 90)}],
        "profile": [{"by": "place"}],
        "quantiles": [{"of": "size", "bounds": (0, 16), "at": [0.25, 0.5]}],
        "count_ranges": [{"of": "size", "ranges": [(0, 3), (3, chooser.randint(4, 9))]}],
    }
    assert calls.keys() == VERBS.keys()
    return verb, chooser.choice(calls[verb])


FINDING: list[dict[str, Any]] = [
    {"by": "place"},
    {"by": "place", "within": 0.3},
    {"by": "place", "top": 2},
]


def opened(table: Path, folder: Path, neighbours: str) -> Any:
    copy = folder / f"{neighbours}.parquet"
    copy.write_bytes(table.read_bytes())
    return hc.open(
        copy,
        user="user",
        budget=hc.Budget(epsilon=1000, delta=1e-4),
        ledger=folder / "ledger.db",
        neighbours=neighbours,
    )


def test_random_releases_verify(table: Path, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chooser = random.Random(seed)
    print(f"seed {seed}")
    datasets = {name: opened(table, tmp_path, name) for name in ("add-remove", "replace")}
    public = None
    verbs = set()
    n = 0
    while n < N:
        relation = chooser.choice(list(datasets))
        data = datasets[relation]
        verb, arguments = some_call(chooser)
        if relation == "add-remove" and chooser.random() < 0.15:
            verb, arguments = "count_users", chooser.choice(FINDING)
        spend = hc.Budget(epsilon=chooser.choice(["0.5", "1", "2.25", "4"]))
        if relation == "replace" and "by" in arguments and "groups" not in arguments:
            continue  # what finds groups has no proof there, and is refused
        plan = getattr(data, verb)(**arguments, spend=spend)
        release = plan.release(fresh=chooser.random() < 0.7)
        how = chooser.choice(["drawn", "again", "stored"])
        if how == "again":
            release = plan.release()
        elif how == "stored":
            release = stored_release(data.ledger, release.key)
        rows = release.write(tmp_path / chooser.choice(["rows.csv", "rows.parquet"]))
        receipt = release.receipt(tmp_path / "receipt.json")
        public = public or data.ledger.signing_key().public
        verified = hc.verify(receipt, rows, public_key=public)
        assert verified.rows.endswith("as they were released")
        said = json.loads(receipt.read_text())
        assert said["chain"]["entry"]["sequence"] == release.entry
        assert said["cost"]["rho"] == written(release.facts.rho)
        assert said["rows"]["n"] == len(release)
        verbs.add(verb)
        n += 1
    assert verbs == set(VERBS)


def written(rho: str) -> str:
    """A rho as a receipt has it: in whole units of the ledger, rounded up."""
    units = math.ceil(Fraction(rho) * 10**12)
    return f"{Decimal(units).scaleb(-12):f}".rstrip("0").rstrip(".")


def test_from_a_shell_as_in_the_reference(table: Path, tmp_path: Path) -> None:
    """Release, receipt and verify, each a process of its own; the codes are those of the page."""
    command = str(Path(sys.executable).with_name("headcount"))
    environment = {
        **os.environ,
        "HEADCOUNT_LEDGER": str(tmp_path / "ledger.db"),
        "HEADCOUNT_HEADS": str(tmp_path / "heads"),
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    (tmp_path / "places.txt").write_text("p0\np1\n")
    counted = run(
        *("count-users", str(table), "--user", "user", "--by", "place", "--groups", "places.txt"),
        *("--epsilon", "1", "--budget", "3", "--key", "mine", "--out", "rows.csv"),
    )
    assert counted.returncode == 0, counted.stderr
    planned = run(
        *("count-users", str(table), "--user", "user", "--by", "place", "--epsilon", "1", "--plan"),
    )
    assert run("receipt", "mine", "--out", "receipt.json").returncode == 0
    key = run("ledger", "key").stdout.strip()
    good = run("verify", "receipt.json", "rows.csv", "--public-key", key)
    assert (good.returncode, good.stderr) == (0, "")
    # One promise, in one way of saying it: of the release, the plan and the receipt.
    for said in (good.stdout, counted.stdout + counted.stderr, planned.stdout):
        assert "epsilon 1 at delta 1e-06" in said
    assert "as they were released" in good.stdout
    (tmp_path / "rows.csv").write_text((tmp_path / "rows.csv").read_text().replace("p1", "p9"))
    bad = run("verify", "receipt.json", "rows.csv", "--public-key", key)
    assert (bad.returncode, bad.stdout) == (4, "")
    assert "rows are not those of the receipt" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_the_hash_of_the_files_is_that_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
        (name,) = [one for one in packed.namelist() if one.endswith("RECORD")]
        rows = csv.reader(packed.read(name).decode().splitlines())
        lines = sorted(",".join(row) for row in rows if row[0].startswith("headcount/"))
    expected = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    code = "import json; from headcount.receipts.software import installed as there; "
    code += "print(json.dumps(there()))"

    def installed() -> dict[str, str]:
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
            capture_output=True,
            text=True,
            check=True,
        )
        return dict(json.loads(ran.stdout))

    assert installed() == {"signed": hc.__version__, "from": "a wheel", "files": expected}
    with (tmp_path / "site" / "headcount" / "version.py").open("a") as file:
        file.write("\n")
    changed = installed()
    assert changed["from"] == "a wheel, with files that were changed since"
    assert changed["files"] != expected
