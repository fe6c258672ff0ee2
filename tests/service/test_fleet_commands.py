"""A fleet from a shell: from a task file to counts on a screen, by commands alone."""

from __future__ import annotations

import json
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.shells import Shell, Typed, free_port, listens

from headcount.cli.examples import EXAMPLES
from headcount.fleet import Device, Policy
from headcount.fleet.answering import kept
from headcount.fleet.control_store import ControlStore
from headcount.fleet.device import SENT
from headcount.fleet.device_http import Http
from headcount.fleet.device_secret import secret_in
from headcount.fleet.schedule import DELAY, shown_at
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres

OWNER, PURPOSE = "fleet-analytics@example.com", "Which app is used most"
CANARY = "canary-0123456789"
SAID = ["mail"] * 22 + [CANARY] * 2
ROLES = ("ingest", "driver", "control")
KEEP_OPEN = 20
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


def devices(shell: Shell, relay: int, key: str, listed: str) -> list[Device]:
    """A device for each line of what ``fleet senders`` printed."""
    limits = Policy(OWNER, max_epsilon=20, max_delta=0.1, keys={OWNER: [key]})
    made = []
    for i, (line, said) in enumerate(zip(listed.splitlines(), SAID, strict=True)):
        headers = {"Authorization": f"Bearer {line.split()[1]}"}
        way = Http(f"http://127.0.0.1:{relay}", headers=headers)
        one = Device(way, shell.folder / f"device-{i}", limits)
        one.answers("top_app")(partial(str, said))
        one.consent(PURPOSE)
        made.append(one)
    return made


def has_sent(one: Device) -> bool:
    """Run a device as a timer does, until its report is taken."""
    return any(ran.said == SENT for _ in range(KEEP_OPEN) for ran in one.run_once())


def paths(commands: list[str]) -> set[str]:
    """The commands of these lines, without what is said to them."""
    known = sorted(EXAMPLES, key=len, reverse=True)
    return {next(one for one in known if f"{line} ".startswith(f"{one} ")) for line in commands}


def test_from_a_task_file_to_counts_on_a_screen(server: Any, shell: Shell) -> None:
    owner = server.new_database()
    for role in ROLES:
        server.sql(f"CREATE ROLE cli_{role} LOGIN")
    of = {
        role: {"HEADCOUNT_FLEET": owner.replace("//postgres@", f"//cli_{role}@")} for role in ROLES
    } | {"owner": {"HEADCOUNT_FLEET": owner}}
    grants = [word for role in ROLES for word in ("--grant", f"{role}=cli_{role}")]
    ingest, relay, control = free_port(), free_port(), free_port()
    written(shell.folder, every="30s", keep_open=f"{KEEP_OPEN}s", n=1, epsilon=8)
    shell.start("fleet", "core", "--keys", "keys")
    shell("fleet", "prepare", *grants, **of["owner"])
    shell.start("fleet", "serve", "ingest", "--port", str(ingest), **of["ingest"])
    open_account(shell, "8.1", "0.01")
    shell.start("fleet", "serve", "control", "--port", str(control), "--delay", "1",
                **of["control"])  # fmt: skip
    key = shell("fleet", "key").strip()
    shell.start("fleet", "aggregate", "--beat", "0.2", **of["driver"])
    listed = shell("fleet", "senders", "devices", *(f"phone-{i}" for i in range(len(SAID))))
    shell.start("fleet", "relay", f"http://127.0.0.1:{ingest}", "--devices", "devices",
                "--port", str(relay))  # fmt: skip
    token = shell("fleet", "token", "make", "reader", "Ada", **of["owner"]).strip()
    assert "Nothing was charged." in shell("fleet", "plan", "task.yaml")
    fleet, store = devices(shell, relay, key, listed), ControlStore(owner)
    shell.wait(lambda: all(map(listens, (ingest, relay, control))))
    shell.wait(Path(shell.environment["HEADCOUNT_FLEET_CORE"]).exists)
    shell.wait(lambda: "opens, closes and counts" in shell.logs())

    first = Typed(shell, "fleet", "apply", "task.yaml", **of["control"])
    (applied,) = shell.wait(store.tasks)
    shell.wait(lambda: store.opened(applied.task.id))
    with ThreadPoolExecutor(len(fleet)) as pool:
        assert all(pool.map(has_sent, fleet))
    charged = first.said()
    assert charged.startswith("Charged entry ")
    again = shell("fleet", "apply", "task.yaml", **of["control"])
    assert "Nothing was charged." in again
    assert again.splitlines()[1] == charged.splitlines()[1] == f"task {applied.task.id.hex()}"
    assert Ledger(shell.folder / "ledger.db").verify().n_charges == 1

    # By the delay that nobody changed it is shown a quarter of an hour after its end.
    early = shell("fleet", "release", "top_app", "0", **of["control"], code=2)
    closes = store.rounds(applied.task.id)[0].descriptor.closes
    assert f"{datetime.fromtimestamp(closes + DELAY, UTC):%Y-%m-%dT%H:%M:%SZ}" in early
    asking = {"Authorization": f"Bearer {token}"}
    tasks = f"http://127.0.0.1:{control}/tasks"
    assert httpx.get(tasks, headers=asking, timeout=60).status_code == 200
    shell("fleet", "token", "revoke", token.split(".")[1], **of["owner"])
    assert httpx.get(tasks, headers=asking, timeout=60).status_code == 401

    shell.wait(lambda: store.rounds(applied.task.id)[0].state == "released")
    finished = store.rounds(applied.task.id)[0].finished
    assert finished is not None
    shell.wait(lambda: store.now() >= shown_at(closes, finished, 1))
    said = shell("fleet", "rounds", "top_app", "--delay", "1", **of["control"])
    assert said.splitlines()[2].split()[:2] == ["0", "released"]
    shown = ("fleet", "release", applied.task.id.hex()[:8], "0", "--delay", "1")
    rows = json.loads(shell(*shown, "--json", "--plot", "apps.svg", **of["control"]))["rows"]
    assert [(row["group"], row["count"]) for row in rows] == truth(shell, applied.task)
    assert (shell.folder / "apps.svg").exists()
    assert "round 1 of 1" in shell(*shown, **of["control"])
    assert shell.end()[3] == 0, shell.logs()
    assert CANARY not in shell.printed + shell.logs()
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "fleet.md").read_text("utf-8")
    printed = re.findall(r"^\$ (?:\w+=\S+ )*headcount (.+)$", page, re.MULTILINE)
    assert paths(printed) == paths([" ".join(words) for words in shell.typed])


def truth(shell: Shell, task: Any) -> list[tuple[str, int]]:
    """What the round must show: the sampled devices of each answer, from the threshold on."""
    secrets = [secret_in(shell.folder / f"device-{i}" / "secret") for i in range(len(SAID))]
    assert all(secrets)
    sampled = [kept(task, 0, one)[0] for one in secrets if one is not None]
    true_counts = Counter(one for one, is_kept in zip(SAID, sampled, strict=True) if is_kept)
    rate, least = float(task.terms.rate), task.terms.threshold
    return [(one, round(n / rate)) for one, n in sorted(true_counts.items()) if n >= least]
