"""A fleet from a shell: from a task file to counts on a screen, by commands alone."""

from __future__ import annotations

import json
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.shells import Shell, free_port, listens

from headcount.fleet import Device, Policy
from headcount.fleet.answering import kept
from headcount.fleet.control_store import ControlStore
from headcount.fleet.device_http import Http
from headcount.fleet.device_secret import secret_in
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres

OWNER, PURPOSE = "fleet-analytics@example.com", "Which app is used most"
CANARY = "canary-0123456789"
SAID = ["mail"] * 22 + [CANARY] * 2
ROLES = ("ingest", "driver", "control")
KEEP_OPEN = 15
TASK = """\
task: top_app
population: phones
owner: {owner}
purpose: {purpose}
expires: {expires}
question: {{max_bytes: 64, pattern: "[a-z0-9._-]+"}}
rounds: {{every: {every}, keep_open: {keep_open}, n: {n}}}
spend: {{account: app-users, epsilon: {epsilon}}}
"""


def written(folder: Path, **more: Any) -> None:
    expires = (datetime.now(UTC).date() + timedelta(days=60)).isoformat()
    said = {"every": "1d", "keep_open": "18h", "n": 30, "epsilon": 1, "expires": expires}
    text = TASK.format(owner=OWNER, purpose=PURPOSE, **said | more)
    (folder / "task.yaml").write_text(text)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell in an empty folder, with a ledger of its own."""
    # A path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="hc-") as short:
        made = Shell(
            tmp_path,
            HEADCOUNT_LEDGER=str(tmp_path / "ledger.db"),
            HEADCOUNT_HEADS=str(tmp_path / "heads"),
            HEADCOUNT_FLEET_CORE=f"{short}/core.socket",
            HEADCOUNT_FLEET_KEY=str(tmp_path / "owner.key"),
        )
        yield made
        made.end(signal.SIGKILL)


def open_account(shell: Shell, budget: str = "1", delta: str = "1e-6") -> None:
    limit = ("--budget", budget, "--delta", delta, "--neighbours", "replace")
    shell("ledger", "open", "app-users", *limit, "--covers", "fleet:phones")


def test_a_plan_has_the_numbers_of_the_design_and_charges_nothing(shell: Shell) -> None:
    written(shell.folder)
    assert "headcount ledger open" in shell("fleet", "plan", "task.yaml", code=4)
    open_account(shell)
    said = shell("fleet", "plan", "task.yaml", "--devices", "1000")
    lines = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert "126 devices" in lines["shown"]
    assert "0.06071" in lines["rate"]
    assert "8 sampled" in lines["threshold"]
    assert lines["promise"].startswith("epsilon 1 at delta 1e-06 for one device of 'phones'")
    assert lines["uploads"].startswith("1 of 320 bytes from each device a day")
    assert lines["uploads"].endswith("from 1,000 devices 1,000, 320 kB")
    assert lines["account"].endswith("epsilon 1 left for one release")
    written(shell.folder, n=1)
    assert "56 devices" in shell("fleet", "plan", "task.yaml")
    written(shell.folder, epsilon=2)
    assert "has epsilon 1 left" in shell("fleet", "plan", "task.yaml", code=3)
    shell("ledger", "open", "clicks", "--budget", "3")
    assert "replace" in shell("fleet", "plan", "task.yaml", "--account", "clicks", code=2)
    assert Ledger(shell.folder / "ledger.db").verify().n_charges == 0


def test_no_command_takes_a_password_or_goes_on_without_a_database(shell: Shell) -> None:
    written(shell.folder)
    assert "Set HEADCOUNT_FLEET:" in shell("fleet", "apply", "task.yaml", code=2)
    for place in ("postgresql://ann:s3cret@h/fleet", "postgresql://h/fleet?password=s3cret"):
        assert "~/.pgpass" in shell("fleet", "rounds", "--database", place, code=2)
    assert "s3cret" not in shell.printed


def devices(shell: Shell, relay: int, key: str, tokens: list[str]) -> list[Device]:
    limits = Policy(OWNER, max_epsilon=20, max_delta=0.1, keys={OWNER: [key]})
    made = []
    for i, (token, said) in enumerate(zip(tokens, SAID, strict=True)):
        headers = {"Authorization": f"Bearer {token}"}
        way = Http(f"http://127.0.0.1:{relay}", headers=headers)
        one = Device(way, shell.folder / f"device-{i}", limits)
        one.answers("top_app")(lambda said=said: said)
        one.consent(PURPOSE)
        made.append(one)
    return made


def test_from_a_task_file_to_counts_on_a_screen(server: Any, shell: Shell) -> None:
    owner = server.new_database()
    for role in ROLES:
        server.sql(f"DROP ROLE IF EXISTS cli_{role}", f"CREATE ROLE cli_{role} LOGIN")
    logins = {role: owner.replace("//postgres@", f"//cli_{role}@") for role in ROLES}
    of = {role: {"HEADCOUNT_FLEET": logins[role]} for role in ROLES} | {
        "owner": {"HEADCOUNT_FLEET": owner}
    }
    grants = [word for role in ROLES for word in ("--grant", f"{role}=cli_{role}")]
    ingest, relay, control = free_port(), free_port(), free_port()
    shell("fleet", "prepare", *grants, **of["owner"])
    open_account(shell, "8.1", "0.01")
    shell.start("fleet", "core", "--keys", "keys")
    shell.start("fleet", "serve", "ingest", "--port", str(ingest), **of["ingest"])
    key = shell("fleet", "key").strip()
    shell.start("fleet", "aggregate", "--beat", "0.2", **of["driver"])
    listed = shell("fleet", "senders", "devices", *(f"phone-{i}" for i in range(len(SAID))))
    shell.start("fleet", "relay", f"http://127.0.0.1:{ingest}", "--devices", "devices",
                "--port", str(relay))  # fmt: skip
    shell.start("fleet", "serve", "control", "--port", str(control), "--delay", "1",
                **of["control"])  # fmt: skip
    token = shell("fleet", "token", "make", "reader", "Ada", **of["owner"]).strip()
    shell.wait(lambda: all(map(listens, (ingest, relay, control))))
    shell.wait(Path(shell.environment["HEADCOUNT_FLEET_CORE"]).exists)

    written(shell.folder, every="20s", keep_open=f"{KEEP_OPEN}s", n=1, epsilon=8)
    first = shell("fleet", "apply", "task.yaml", **of["control"])
    assert first.startswith("Charged entry ")
    store = ControlStore(owner)
    (applied,) = store.tasks()
    assert f"task {applied.task.id.hex()}" in first
    shell.wait(lambda: store.opened(applied.task.id))
    tokens = [line.split()[1] for line in listed.splitlines()]
    with ThreadPoolExecutor(len(SAID)) as pool:
        runs = [pool.submit(one.run_once) for one in devices(shell, relay, key, tokens)]
        again = shell("fleet", "apply", "task.yaml", **of["control"])
    assert {ran.said for run in runs for ran in run.result()} == {"sent"}
    assert "Nothing was charged." in again
    assert again.splitlines()[1] == first.splitlines()[1]
    assert Ledger(shell.folder / "ledger.db").verify().n_charges == 1

    early = shell("fleet", "release", "top_app", "0", **of["control"], code=2)
    shown_from = datetime.fromtimestamp(store.rounds(applied.task.id)[0].descriptor.closes + 900)
    assert f"{shown_from.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" in early
    asking = {"Authorization": f"Bearer {token}"}
    tasks = f"http://127.0.0.1:{control}/tasks"
    assert httpx.get(tasks, headers=asking, timeout=60).status_code == 200
    shell("fleet", "token", "revoke", token.split(".")[1], **of["owner"])
    assert httpx.get(tasks, headers=asking, timeout=60).status_code == 401

    def is_shown() -> bool:
        said = shell("fleet", "rounds", "top_app", "--delay", "1", **of["control"])
        return said.splitlines()[2].split()[:2] == ["0", "released"]

    shell.wait(lambda: store.rounds(applied.task.id)[0].state == "released")
    shell.wait(is_shown)
    shown = ("fleet", "release", applied.task.id.hex()[:8], "0", "--delay", "1")
    said = json.loads(shell(*shown, "--json", "--plot", "apps.svg", **of["control"]))
    assert [(row["group"], row["count"]) for row in said["rows"]] == truth(shell, applied.task)
    assert (shell.folder / "apps.svg").exists()
    assert "round 1 of 1" in shell(*shown, **of["control"])
    assert shell.end()[2] == 0
    assert CANARY not in shell.printed + shell.logs()


def truth(shell: Shell, task: Any) -> list[tuple[str, int]]:
    """What the round must show: the sampled devices of each answer, from the threshold on."""
    secrets = [secret_in(shell.folder / f"device-{i}" / "secret") for i in range(len(SAID))]
    assert all(secrets)
    sampled = [kept(task, 0, one)[0] for one in secrets if one is not None]
    true_counts = Counter(one for one, is_kept in zip(SAID, sampled, strict=True) if is_kept)
    rate, least = float(task.terms.rate), task.terms.threshold
    return [(one, round(n / rate)) for one, n in sorted(true_counts.items()) if n >= least]
