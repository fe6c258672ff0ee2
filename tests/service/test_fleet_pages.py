"""Pages and numbers for whoever runs a fleet: who is let in, what is there, and what never is."""

from __future__ import annotations

import base64
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, OVERFLOW, Browser
from tests.service.controls import shift
from tests.service.fleet_servers import Servers, bearer
from tests.service.fleets import cut, reports, upload, written
from tests.service.test_fleet_control import COLLECT, LOOK, ROLES, applied, is_problem
from tests.unit.fleet.devices import sent

from headcount.fleet import serving
from headcount.fleet.driver import turn
from headcount.fleet.senders import add_senders
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.bar import share_spent

pytestmark = pytest.mark.postgres

ODD = "<script>alert('maps')</script>&amp;"
CANARY = "canary-0123456789"
SAID = ["mail"] * 400 + [ODD] * 300 + [CANARY] * 3 + [None] * 47
QUESTION = {"max_bytes": 64}
PAGES = [
    ("/metrics", LOOK),
    ("/pages", LOOK),
    ("/pages/{task}", LOOK),
    ("/pages/{task}/rounds/{number}", COLLECT),
]


def as_browser(token: str) -> dict[str, str]:
    said = base64.b64encode(f"any name:{token}".encode()).decode()
    return {"Authorization": f"Basic {said}"}


def run_to_a_release(control: Any, wait_until: Callable[..., None]) -> str:
    """A task of two rounds, of which the first is shown and the second is open."""
    fleet = control.fleet
    task_id = applied(control, question=QUESTION)
    door = fleet.door()
    shift(fleet, 18 * 3600 - 20)
    turn(control.store, door)
    (one,) = control.store.tasks()
    described = control.store.rounds(one.task.id)[0].descriptor
    assert upload(door, one.task, cut(reports(one.task, described, SAID), 50))
    wait_until(lambda: control.store.now() >= described.closes, 60)
    shift(fleet, 7 * 3600)
    turn(control.store, door)
    wait_until(lambda: _states(control, task_id) == ["released", "open"], 60)
    return task_id


def _states(control: Any, task: str) -> list[str]:
    return [one["state"] for one in control.ask("reader", "GET", f"/tasks/{task}/rounds").json()]


def test_every_page_and_every_role(control: Any) -> None:
    task = applied(control)
    owner = control.tokens["owner"]
    for path, may in PAGES:
        where = path.format(task=task, number=0)
        for token in (None, "hunter2", f"{owner[:-1]}{'A' if owner[-1] != 'A' else 'B'}"):
            answer = control.ask(token, "GET", where)
            is_problem(answer, 401, "no-token")
            asked = answer.headers["WWW-Authenticate"]
            assert asked == ("Bearer" if path == "/metrics" else 'Basic realm="headcount"')
        for role in ROLES:
            by_browser = control.client.get(where, headers=as_browser(control.tokens[role]))
            answer = control.ask(role, "GET", where)
            if role not in may:
                is_problem(answer, 403, "not-allowed")
            elif "rounds" in path:
                is_problem(answer, 404, "not-shown")
            else:
                assert answer.status_code == 200
            if path == "/metrics":
                is_problem(by_browser, 401, "no-token")
            else:
                assert by_browser.status_code == answer.status_code
    # A browser sends a password by itself: nothing that changes something takes one.
    for method, path in (("POST", f"/tasks/{task}/rounds/0/cancel"), ("GET", "/tasks")):
        answer = control.client.request(method, path, headers=as_browser(owner))
        is_problem(answer, 401, "no-token")
    for odd in ("Basic", "Basic ????", "Basic /w==", f"Basic {owner}"):
        answer = control.client.get("/pages", headers={"Authorization": odd})
        is_problem(answer, 401, "no-token")
    assert control.client.get("/readyz").json() == {"status": "ok"}


def test_pages_and_numbers_of_a_round_that_is_shown(
    control: Any, clients: ModuleType, tmp_path: Path
) -> None:
    task = run_to_a_release(control, clients.wait_until)
    look = as_browser(control.tokens["analyst"])

    def page(where: str) -> str:
        answer = control.client.get(where, headers=look)
        assert answer.status_code == 200, answer.text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-store"
        assert "<script" not in answer.text
        assert CANARY not in answer.text
        return str(answer.text)

    first = page("/pages")
    assert f'href="/pages/{task}"' in first
    assert "The journal is whole" in first
    assert "is spent" in first
    both = page(f"/pages/{task}")
    assert re.findall(r'class="state (\w+)"', both) == ["released", "open"]
    assert re.findall(r"<td>(live|destroyed|still there|not made)</td>", both) == [
        "destroyed",
        "live",
    ]
    shown = page(f"/pages/{task}/rounds/0")
    assert "&lt;script&gt;" in shown
    said = {row["group"]: row["count"] for row in _rows(control, task)}
    assert {"mail", ODD} == set(said)
    assert f'<td class="n">{said["mail"]:,}</td>' in shown
    numbers_are_of_the_calendar(control)
    if CHROMIUM:
        pages_fit_on_a_desk_and_on_a_phone(control, task, tmp_path)


def _rows(control: Any, task: str) -> Any:
    return control.ask("analyst", "GET", f"/tasks/{task}/rounds/0/release").json()["rows"]


def test_a_ledger_that_was_changed_is_said_on_the_first_page(control: Any) -> None:
    applied(control)
    with closing(sqlite3.connect(control.fleet.book)) as raw, raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("UPDATE accounts SET rho_spent = 0")
    answer = control.ask("reader", "GET", "/pages")
    assert "not as it was left" in answer.text or answer.status_code == 409


def numbers(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def numbers_are_of_the_calendar(control: Any) -> None:
    answer = control.ask("reader", "GET", "/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    found = numbers(answer.text)
    assert found["headcount_fleet_tasks"] == 1
    assert found['headcount_fleet_rounds{state="released"}'] == 1
    assert found['headcount_fleet_rounds{state="open"}'] == 1
    assert found['headcount_fleet_rounds{state="closing"}'] == 0
    assert found["headcount_fleet_late_delays"] == 0
    account = Ledger(control.fleet.book).account("app-users")
    spent = found['headcount_fleet_budget_spent_ratio{account="app-users"}']
    assert spent == pytest.approx(float(share_spent(account)), abs=1e-6)
    assert "mail" not in answer.text


def test_uploads_are_counted_with_cover_and_never_without(servers: Servers) -> None:
    """And nobody sees the numbers who has no token for them."""
    servers.fleet.open_account(servers.fleet.folder / "both.db", epsilon=2.5)
    door = servers.fleet.door()
    task = door.apply(written())
    described = door.open_round(task.id, 0)
    uncovered = door.apply(written(task="uncovered", cover=False))
    other = door.open_round(uncovered.id, 0)
    watchers = servers.fleet.folder / "watchers"
    (token,) = add_senders(watchers, ["prometheus"])
    address = servers.fleet.address
    ingest = servers._run(lambda: serving.ingest(address, None, str(watchers)))
    plain = servers.ingest()
    sealed = reports(task, described, ["mail"] * 6)
    for _ in range(2):
        assert ingest.post(described, b"".join(sealed[:5])) == 204
    # Who is not sampled sends nothing.
    some = [one for d in range(60) for one in sent(uncovered, other, d, "mail")]
    assert some
    assert ingest.post(other, b"".join(some)) == 204
    assert ingest.post(described, sealed[5][:-1]) == 400
    door.close(task.id, 0)
    assert ingest.post(described, sealed[5]) == 409
    door.close(uncovered.id, 0)
    assert ingest.post(other, sealed[5]) == 409
    assert plain.ask("GET", "/metrics", None, **bearer(token))[0] == 404
    assert ingest.ask("GET", "/metrics")[0] == 401
    assert ingest.ask("POST", "/metrics", b"x", **bearer(token))[0] == 405
    found = numbers(_text(ingest, token))
    assert found['headcount_fleet_posts_total{outcome="taken"}'] == 2
    assert found['headcount_fleet_reports_total{outcome="taken"}'] == 10
    assert found['headcount_fleet_posts_total{outcome="over"}'] <= 1
    assert found['headcount_fleet_posts_total{outcome="failed"}'] == 0
    assert found["headcount_fleet_post_seconds_count"] <= 3


def _text(server: Any, token: str) -> str:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/metrics", headers=bearer(token))
    try:
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def pages_fit_on_a_desk_and_on_a_phone(control: Any, task: str, folder: Path) -> None:
    place = control.url.replace("://", f"://a:{control.tokens['analyst']}@")
    pictures = Path(os.environ.get("HEADCOUNT_PICTURES", folder))
    with Browser(folder / "browser") as browser:
        for name, path in {"tasks": "", "task": f"/{task}", "round": f"/{task}/rounds/0"}.items():
            for width, dark in ((1200, False), (390, True)):
                page = browser.open(f"{place}/pages{path}", width=width, dark=dark)
                page.until("document.querySelector('h1') !== null")
                assert page.value(OVERFLOW) <= 0, (name, width)
                assert page.complaints(control.url, place) == []
                page.picture(pictures / f"{name}-{width}.png")
