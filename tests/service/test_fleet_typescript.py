"""The second client, in TypeScript: the same bytes, and its reports counted beside Python's."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.service.fleet_servers import Servers
from tests.service.fleets import SAID, cut, reports, truth, upload
from tests.unit.fleet.devices import WRITTEN, secret

from headcount.fleet.answering import kept
from headcount.fleet.seal import Opener
from headcount.fleet.task import Task
from headcount.fleet.upload import LIST_SECONDS
from headcount.fleet.wire import descriptor_from, value_in

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
VECTORS = ROOT / "tests" / "unit" / "fleet" / "vectors.json"
NODE = shutil.which("node")
HERS = ["mail"] * 500 + ["maps"] * 400 + ["wörter"] * 60 + [None] * 40
"""What 1,000 devices of the second client say; two answers are none of the task's."""
needs_client = pytest.mark.skipif(
    NODE is None or not (CLIENT / "dist").is_dir(), reason="no second client: just setup-typescript"
)


def ran(script: str, *words: str, given: Any = None) -> Any:
    done = subprocess.run(
        [str(NODE), str(CLIENT / "test" / script), *words],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stdout
    return json.loads(done.stdout)


@needs_client
def test_it_reproduces_every_vector_and_its_reports_open() -> None:
    vectors = json.loads(VECTORS.read_text("utf-8"))
    round_ = descriptor_from(bytes.fromhex(vectors["descriptor"]))
    opener = Opener(bytes.fromhex(vectors["round_private_key"]), round_.hash)
    found = ran("vectors.mjs", str(VECTORS))
    assert [one["value"] for one in found] == [one["value"] for one in vectors["bodies"]]
    for one in found:
        opened = opener.open(bytes.fromhex(one["report"]))
        assert opened is not None
        assert (opened[0].hex(), value_in(opened[1])) == (one["id"], one["value"])


def secret_of(folder: Path, number: int) -> bytes:
    return bytes.fromhex((folder / str(number) / "secret").read_text())


def hers(task: Task, folder: Path) -> Counter[str]:
    """The sampled devices of each answer, by their own secrets and the coins of Python."""
    sampled = (i for i in range(len(HERS)) if kept(task, 0, secret_of(folder, i))[0])
    said = (HERS[i] for i in sampled)
    return Counter(one for one in said if one is not None and one.isascii())


@needs_client
def test_a_thousand_of_its_reports_are_counted_beside_pythons(
    servers: Servers, tmp_path: Path
) -> None:
    door, task, round_ = servers.open(epsilon=2)
    ingest = servers.ingest()
    names = [f"device-{i}" for i in range(len(HERS))]
    relay, tokens = servers.relay(ingest.port, names, gather=0.5)
    devices: list[dict[str, Any]] = [
        {"token": tokens[n], "says": says} for n, says in zip(names, HERS, strict=True)
    ]
    asked = {
        "relay": relay.address,
        "folder": str(tmp_path / "hers"),
        "owner": WRITTEN["owner"],
        "key": servers.fleet.owner.public,
        "purpose": WRITTEN["purpose"],
    }
    # Nobody agreed, a pinned key that did not sign, and a device's own limits.
    odd: list[dict[str, Any]] = [
        {"silent": True},
        {"key": "ed25519:" + "0" * 62 + "01"},
        {"policy": {"minThreshold": 1_000}},
    ]
    given: list[dict[str, Any]] = [{**devices[i], **more} for i, more in enumerate(odd)]
    found = ran("devices.mjs", given=asked | {"devices": given})
    assert found[0] == [[]]
    assert "not signed" in found[1][0][0]
    assert "too few" in found[2][0][0]

    # Answered once, however often it runs.
    given = [{**one, "runs": 2 if i < 20 else 1} for i, one in enumerate(devices)]
    found = ran("devices.mjs", given=asked | {"devices": given})
    assert found == [[["sent"], []]] * 20 + [[["sent"]]] * (len(HERS) - 20)
    pythons = reports(task, round_)
    assert upload(door, task, cut(pythons, 100))
    sealed = b"".join(servers.rows())
    assert len(sealed) == 320 * (len(HERS) + len(pythons))

    both = hers(task, tmp_path / "hers") + Counter(his(task))
    door.close(task.id, 0)
    (release,) = door.step()
    rate, least = float(task.terms.rate), task.terms.threshold
    rows = release.to_arrow()
    shown = dict(zip(rows["group"].to_pylist(), rows["count"].to_pylist(), strict=True))
    assert shown == {one: round(n / rate) for one, n in sorted(both.items()) if n >= least}
    assert len(shown) == 2
    assert shown != truth(task)
    # One that forgets answers no further round of this task.
    door.open_round(task.id, 1)
    time.sleep(2 * LIST_SECONDS + 1)
    given = [{**devices[0], "forgets": True}, {**devices[1], "silent": False}]
    found = ran("devices.mjs", given=asked | {"devices": given})
    assert found == [[["the task was answered before the device forgot"]], [["sent"]]]
    door.close(task.id, 1)
    door.step()
    servers.fleet.is_in_order(task, 2)


def his(task: Task) -> dict[str, int]:
    """The same of Python's devices."""
    sampled = (i for i in range(len(SAID)) if kept(task, 0, secret(i))[0])
    return Counter(SAID[i] or "" for i in sampled if SAID[i])


@needs_client
def test_it_is_small_and_its_lock_names_no_host() -> None:
    lines = sum(len(one.read_text().splitlines()) for one in (CLIENT / "src").glob("*.ts"))
    assert lines < 400
    lock = (CLIENT / "package-lock.json").read_text()
    assert "http" not in lock
    assert lock.count('"integrity"') == 3
