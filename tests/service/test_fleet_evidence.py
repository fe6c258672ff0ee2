"""Evidence on its way: a core that shows it, an owner who allows it, and devices that pin both."""

from __future__ import annotations

import ast
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.service.fleet_servers import Servers, bearer
from tests.service.fleets import Fleet, RunningCore, written
from tests.service.shells import Shell
from tests.unit.fleet.devices import WRITTEN
from tests.unit.fleet.lines import asked

from headcount.errors import FleetError, UsageError
from headcount.fleet import Attested, Device, Policy, attesting
from headcount.fleet.allowed import allowed_in
from headcount.fleet.allowed_file import AllowedFile
from headcount.fleet.control_store import ControlStore
from headcount.fleet.core_client import Core
from headcount.fleet.device_http import Http
from headcount.fleet.driver import turn
from headcount.fleet.evidence_cose import Cose, root_in
from headcount.fleet.evidence_test import TestRoot
from headcount.fleet.owner_key import OwnerKey
from headcount.fleet.upload import LIST_SECONDS
from headcount.fleet.wire import Descriptor
from headcount.trials.seam import swapped

pytestmark = pytest.mark.postgres
OWNER, PURPOSE = WRITTEN["owner"], WRITTEN["purpose"]


@pytest.fixture
def attested(server: Any) -> Iterator[Fleet]:
    """A fleet whose core shows evidence."""
    with tempfile.TemporaryDirectory(prefix="hc-") as short:
        folder = Path(short)
        core = RunningCore(folder, test_root=folder / "root")
        yield Fleet(server, folder, core)
        core.kill()


def log_of(fleet: Fleet) -> AllowedFile:
    _ = fleet.owner
    return AllowedFile(fleet.key, fleet.door().store)


def device(fleet: Fleet, address: str, name: str, token: str) -> Device:
    root = TestRoot(fleet.folder / "root").fingerprint
    limits = Policy(OWNER, keys={OWNER: [fleet.owner.public]}, attested=Attested("test", root))
    one = Device(Http(address, headers=bearer(token)), fleet.folder / name, limits)
    one.answers("top_app")(lambda: "mail")
    one.consent(PURPOSE)
    return one


def test_from_a_core_that_is_not_allowed_to_devices_that_answer(
    attested: Fleet, clients: Any
) -> None:
    fleet, root = attested, TestRoot(attested.folder / "root")
    door = fleet.door()
    task = door.apply(written(attestation="test"))
    # Nobody would answer: nothing is opened, and no coin is spent on it.
    with pytest.raises(FleetError, match=f"headcount fleet allow {root.measurement.hex()}"):
        door.open_round(task.id, 0)
    log = log_of(fleet)
    assert log.add("allow", root.measurement.hex(), "1.2")
    assert not log.add("allow", root.measurement.hex())
    # The driver opens it, and shows evidence in the same turn.
    store = ControlStore(fleet.address)
    turn(store, door)
    (one,) = store.open_rounds()
    assert one.attested is not None
    assert Cose(root_in(one.evidence)).measured(one.evidence, one.descriptor, store.now())
    # Not renewed before its time, and then it is.
    turn(store, door)
    assert store.open_rounds()[0].evidence == one.evidence
    with swapped(attesting, "RENEWED_SECONDS", -1):
        turn(store, door)
    assert store.open_rounds()[0].evidence != one.evidence
    # Past the ingest and the relay to devices.
    servers = Servers(fleet, clients)
    try:
        ingest = servers.ingest()
        relay, tokens = servers.relay(ingest.port, ["phone", "late"])
        phone = device(fleet, relay.address, "phone", tokens["phone"])
        assert [ran.said for ran in phone.run_once()] == ["sent"]
        log_of(fleet).add("withdraw", root.measurement.hex())
        late = device(fleet, relay.address, "late", tokens["late"])
        # An ingest's list is as old as a second, and so is a relay's.
        time.sleep(2 * LIST_SECONDS + 1)
        late_said = [ran.said for ran in late.run_once()]
        assert late_said == ["the core runs code that its owner does not allow"]
    finally:
        servers.end()


def test_a_log_that_was_put_back_catches_up_and_two_logs_are_refused(attested: Fleet) -> None:
    fleet = attested
    log_of(fleet).add("allow", "ab" * 48)
    saved = fleet.save()
    log_of(fleet).add("allow", "cd" * 48)
    whole = [one.spelled for one in log_of(fleet).entries]
    fleet.put_back(saved)
    assert len(fleet.door().store.allowed()) == 1
    # The file beside the key is what counts.
    log_of(fleet).publish()
    assert [one.spelled for one in fleet.door().store.allowed()] == whole
    # A file that is lost is written again from the database.
    beside = Path(f"{fleet.key}.allowed")
    kept = beside.read_text()
    beside.unlink()
    log_of(fleet).publish()
    assert beside.read_text() == kept
    beside.write_text("".join(kept.splitlines(keepends=True)[:1]))
    fleet.sql("DELETE FROM fleet.allowed WHERE number = 1")
    log_of(fleet).add("withdraw", "ab" * 48)
    beside.write_text(kept)
    with pytest.raises(FleetError, match="are two"):
        log_of(fleet)
    beside.write_text("{}")
    with pytest.raises(UsageError, match="damaged"):
        log_of(fleet)


def test_a_core_shows_evidence_of_its_own_keys_alone(attested: Fleet, fleet: Fleet) -> None:
    task = asked(attestation="test")
    with Core(attested.core.place) as core:
        public_key = core.make(task, 0)
        round_ = Descriptor(task.id, 0, 1_800_000_000, 1_800_064_800, public_key)
        assert core.attest(task, round_)
        for odd in (
            replace(round_, public_key=bytes(31) + b"\1"),
            replace(round_, task=bytes(32)),
        ):
            with pytest.raises(UsageError, match="another key"):
                core.attest(task, odd)
        core.destroy(task, 0)
        with pytest.raises(UsageError, match="destroyed"):
            core.attest(task, round_)
    with Core(fleet.core.place) as plain:
        plain.make(task, 0)
        with pytest.raises(UsageError, match="shows no evidence"):
            plain.attest(task, round_)


def test_the_same_by_commands(server: Any, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="hc-") as short:
        shell = Shell(
            tmp_path,
            HEADCOUNT_FLEET=server.new_database(),
            HEADCOUNT_FLEET_KEY=str(tmp_path / "owner.key"),
            HEADCOUNT_FLEET_CORE=f"{short}/core.socket",
        )
        try:
            shell("fleet", "prepare")
            shell("fleet", "key")
            shell.start("fleet", "core", "--keys", "keys", "--test-root", "root")
            shell.wait(Path(f"{short}/core.socket").exists)
            printed = dict(line.split()[1:] for line in shell.logs().splitlines())
            root = TestRoot(tmp_path / "root")
            assert printed == {"root": root.fingerprint, "code": root.measurement.hex()}
            code = printed["code"]
            assert "Signed." in shell("fleet", "allow", code, "--version", "1.2")
            listed = shell("fleet", "allowed").splitlines()
            assert listed[0] == f"allow     {code}  1.2"
            assert listed[1] == "1 allowed now."
            seen = ast.literal_eval(listed[2].rpartition("seen=")[2])
            assert Attested("test", printed["root"], seen).first.n == 1
            assert "Signed." in shell("fleet", "withdraw", code)
            store = ControlStore(shell.environment["HEADCOUNT_FLEET"])
            key = OwnerKey(tmp_path / "owner.key").public
            assert allowed_in(store.allowed(), [key])[0] == frozenset()
        finally:
            shell.end(signal.SIGKILL)
