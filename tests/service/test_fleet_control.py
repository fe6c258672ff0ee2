"""The control API over HTTP: who is let in, what is charged, and what is collected when."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from tests.service.controls import given, shift
from tests.service.fleets import ACCOUNT, CANARY, counts, cut, reports, truth, upload

from headcount.fleet.driver import turn
from headcount.fleet.tokens import make_token, revoke_token
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours

pytestmark = pytest.mark.postgres

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "fleet-control.json"
ROLES = ("reader", "analyst", "operator", "owner")
LOOK, COLLECT, DRIVE, APPLY = set(ROLES), {"analyst", "owner"}, {"operator", "owner"}, {"owner"}
ROUTES: list[tuple[str, str, set[str]]] = [
    ("GET", "/tasks", LOOK),
    ("GET", "/tasks/{task}", LOOK),
    ("GET", "/tasks/{task}/rounds", LOOK),
    ("GET", "/tasks/{task}/rounds/{number}", LOOK),
    ("GET", "/tasks/{task}/rounds/{number}/release", COLLECT),
    ("PUT", "/tasks/{task}/collection_jobs/{job}", COLLECT),
    ("GET", "/tasks/{task}/collection_jobs/{job}", COLLECT),
    ("POST", "/tasks/{task}/rounds/{number}/open", DRIVE),
    ("POST", "/tasks/{task}/rounds/{number}/close", DRIVE),
    ("POST", "/tasks/{task}/rounds/{number}/cancel", DRIVE),
    ("POST", "/tasks", APPLY),
]
TABLES = ("task", "round", "ordered", "job", "token")


def applied(control: Any, **more: Any) -> str:
    answer = control.ask("owner", "POST", "/tasks", given(**more))
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"/tasks/{answer.json()['id']}"
    return str(answer.json()["id"])


def is_problem(answer: httpx.Response, status: int, name: str = "") -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(answer.json()) == {"type", "title", "status", "detail"}
    assert answer.json()["status"] == status
    assert answer.json()["type"] == f"/problems/{name or answer.json()['title']}"


def everything(fleet: Any) -> list[Any]:
    rows = [fleet.sql(f"SELECT t::text FROM fleet.{one} t ORDER BY 1") for one in TABLES]
    return [*rows, Ledger(fleet.book).verify().n_charges]


def test_the_document_in_the_repository_is_what_the_application_says(control: Any) -> None:
    served = control.client.get("/openapi.json")
    assert served.json() == json.loads(DOCUMENT.read_text())
    described = {
        (method.upper(), path)
        for path, found in served.json()["paths"].items()
        for method in found
        if path != "/healthz"
    }
    assert described == {(method, path) for method, path, _ in ROUTES}


def test_every_route_and_every_role(control: Any) -> None:
    """Who is not let in changes nothing, whatever else is right or wrong with the request."""
    fleet = control.fleet
    task = applied(control)
    over, revoked = (make_token(control.store, "owner", "of before") for _ in range(2))
    fleet.sql("UPDATE fleet.token SET expires = clock_timestamp() WHERE id = %s", over[4:20])
    revoke_token(control.store, revoked)
    owner = control.tokens["owner"]
    strangers = {
        "anonymous": None,
        "over": over,
        "revoked": revoked,
        "forged": f"{owner[:-1]}{'A' if owner[-1] != 'A' else 'B'}",
        "of another": f"{owner[:21]}{control.tokens['reader'][21:]}",
        "unknown": f"hc1.{'0' * 16}.{'A' * 43}",
        "no token": "hunter2",
    }
    bodies = {"POST /tasks": given(), "PUT": {"round": 1}}
    before = everything(fleet)
    cells = 0
    for method, path, may in ROUTES:
        where = path.format(task=task, number=0, job="a-job")
        body = bodies.get(f"{method} {path}", bodies.get(method))
        for token in strangers.values():
            is_problem(control.ask(token, method, where, body), 401, "no-token")
            cells += 1
        assert control.ask(None, method, where, content=b"{").status_code == 401
        for role in set(ROLES) - may:
            is_problem(control.ask(role, method, where, body), 403, "not-allowed")
            assert control.ask(role, method, where, content=b"{").status_code == 403
            cells += 1
    assert everything(fleet) == before
    for method, path, may in ROUTES:
        where = path.format(task=task, number=0, job="a-job")
        body = bodies.get(f"{method} {path}", bodies.get(method))
        for role in sorted(may):
            answer = control.ask(role, method, where, body)
            assert answer.status_code < 500, answer.text
            assert answer.status_code not in (401, 403), (role, method, path)
            cells += 1
    assert cells == len(ROUTES) * (len(strangers) + len(ROLES))
    basic = {"Authorization": f"Basic {owner}"}
    assert control.client.get("/tasks", headers=basic).status_code == 401


def test_tokens_are_kept_as_hashes_and_say_nothing(control: Any) -> None:
    dumped = everything(control.fleet)
    for token in control.tokens.values():
        _, name, secret = token.split(".")
        assert name in str(dumped)
        assert secret not in str(dumped)
        assert secret.encode().hex() not in str(dumped)
    assert len({token[-43:] for token in control.tokens.values()}) == 4


def test_wrong_methods_paths_and_bodies_are_told_in_fixed_words(control: Any) -> None:
    methods: dict[str, set[str]] = {"/healthz": {"GET"}}
    for method, path, _ in ROUTES:
        methods.setdefault(path, set()).add(method)
    for path, known in methods.items():
        where = path.format(task="0" * 64, number=0, job="a")
        for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "TRACE"} - known:
            answer = control.ask(None, method, where)
            is_problem(answer, 405, "wrong-method")
            assert set(answer.headers["Allow"].split(", ")) == known
    for where in ("/", "/tasks/", "/docs", "/task", "/tasks/../tasks//"):
        is_problem(control.ask("owner", "GET", where), 404, "not-here")
    nothing = f"/tasks/{'0' * 64}"
    for where in (nothing, f"{nothing}/rounds", f"{nothing}/rounds/0/release"):
        is_problem(control.ask("owner", "GET", where), 404, "not-here")
    odd: Any
    for odd in ("hunter2", {"round": "hunter2"}, {"round": 1, "more": "hunter2"}, [], 3):
        answer = control.ask("owner", "PUT", f"{nothing}/collection_jobs/a", odd)
        is_problem(answer, 422, "not-as-described")
        assert "hunter2" not in answer.text
    is_problem(control.ask("owner", "GET", "/tasks/hunter2"), 422, "not-as-described")
    large = control.ask("owner", "POST", "/tasks", content=b" " * 70_000)
    is_problem(large, 413, "too-large")
    parts = control.ask("owner", "POST", "/tasks", content=iter([b" " * 40_000] * 2))
    is_problem(parts, 413, "too-large")


def test_a_task_is_charged_once_and_shown(control: Any) -> None:
    task = applied(control)
    assert applied(control) == task
    assert Ledger(control.fleet.book).verify().n_charges == 1
    (only,) = control.ask("reader", "GET", "/tasks").json()
    assert only == control.ask("reader", "GET", f"/tasks/{task}").json()
    assert (only["account"], only["asked"]["task"]) == (ACCOUNT, "top_app")
    assert only["terms"]["threshold"] >= 5
    rounds = control.ask("reader", "GET", f"/tasks/{task}/rounds").json()
    assert [one["state"] for one in rounds] == ["waiting", "waiting"]
    assert rounds[1]["opens_at"] - rounds[0]["opens_at"] == 86_400
    is_problem(control.ask("owner", "POST", "/tasks", given(purpose="x")), 409, "other-task")
    wrong = control.ask("owner", "POST", "/tasks", given() | {"expires": "never"})
    is_problem(wrong, 400, "wrong-task")
    assert "expires must be a day" in wrong.json()["detail"]
    late = control.ask("owner", "POST", "/tasks", given(task="late", expires="2020-01-01"))
    is_problem(late, 400, "no-plan")


def test_who_cannot_pay_opens_nothing_and_a_population_has_one_account(control: Any) -> None:
    fleet = control.fleet
    dear = given(spend={"account": ACCOUNT, "epsilon": 2})
    refused = control.ask("owner", "POST", "/tasks", dear)
    is_problem(refused, 402, "no-budget")
    assert not re.search(r"[0-9.]*[0-9]", refused.json()["detail"])
    unknown = given(spend={"account": "hunter2", "epsilon": 1})
    is_problem(control.ask("owner", "POST", "/tasks", unknown), 404, "no-account")
    budget = Budget(epsilon=3, delta=1e-6)
    Ledger(fleet.book).open_account("others", budget, Neighbours.REPLACE, ["fleet:phones"])
    second = control.ask("owner", "POST", "/tasks", given())
    is_problem(second, 409, "ledger")
    assert not {"others", "phones", "postgres", str(fleet.folder)} & set(second.text.split())
    assert fleet.sql("SELECT 1 FROM fleet.task") == []
    turn(control.store, fleet.door())
    assert fleet.sql("SELECT 1 FROM fleet.round") == []
    assert Ledger(fleet.book).verify().n_charges == 0


def test_what_a_ledger_or_a_database_says_is_not_passed_on(control: Any) -> None:
    fleet = control.fleet
    applied(control)
    fleet.book.write_bytes(b"hunter2" * 1000)
    broken = control.ask("owner", "POST", "/tasks", given(task="another"))
    assert broken.status_code in (409, 503)
    fleet.sql("ALTER TABLE fleet.task RENAME TO hunter2")
    away = control.ask("owner", "GET", "/tasks")
    is_problem(away, 503, "not-now")
    assert int(away.headers["Retry-After"]) > 0
    for text in (broken.text, away.text, control.printed.read_text()):
        for secret in ("hunter2", str(fleet.folder), "127.0.0.1", fleet.database, "SQLSTATE"):
            assert secret not in text, text


def test_rounds_are_ordered_and_called_off_only_before_they_open(
    control: Any, drivers: Callable[..., Any], clients: ModuleType
) -> None:
    task = applied(control, rounds={"every": "1d", "keep_open": "18h", "n": 4})
    at = f"/tasks/{task}/rounds"
    is_problem(control.ask("operator", "POST", f"{at}/3/close"), 409, "not-opened")
    assert control.ask("operator", "POST", f"{at}/1/cancel").json()["state"] == "cancelled"
    assert control.ask("operator", "POST", f"{at}/1/cancel").json()["state"] == "cancelled"
    is_problem(control.ask("operator", "POST", f"{at}/1/open"), 409, "called-off")
    is_problem(control.ask("operator", "POST", f"{at}/1/close"), 409, "called-off")
    assert control.ask("operator", "POST", f"{at}/2/open").status_code == 202
    is_problem(control.ask("operator", "POST", f"{at}/4/open"), 404, "not-here")
    drivers()

    def states() -> list[str]:
        return [one["state"] for one in control.ask("reader", "GET", at).json()]

    clients.wait_until(lambda: states() == ["open", "cancelled", "open", "waiting"], 60)
    is_problem(control.ask("operator", "POST", f"{at}/0/cancel"), 409, "opened")
    # Whoever closes a round early does not see it earlier.
    before = control.ask("reader", "GET", f"{at}/0").json()
    assert control.ask("operator", "POST", f"{at}/0/close").json()["state"] == "closing"
    clients.wait_until(lambda: ("released", True) in control.fleet.states(), 60)
    assert control.ask("reader", "GET", f"{at}/0").json() == before | {"state": "closing"}
    is_problem(control.ask("owner", "GET", f"{at}/0/release"), 404, "not-shown")
    assert control.ask("owner", "PUT", f"/tasks/{task}/collection_jobs/a", {"round": 1})
    assert control.ask("owner", "GET", f"/tasks/{task}/collection_jobs/a").json()["state"] == (
        "cancelled"
    )


def test_a_job_is_made_once_by_whatever_name(control: Any) -> None:
    task = applied(control)
    at = f"/tasks/{task}/collection_jobs"
    first = control.ask("analyst", "PUT", f"{at}/monday", {"round": 0})
    again = control.ask("owner", "PUT", f"{at}/monday", {"round": 0})
    assert (first.status_code, first.content) == (201, again.content)
    assert first.headers["Location"] == again.headers["Location"] == f"{at}/monday"
    is_problem(control.ask("analyst", "PUT", f"{at}/monday", {"round": 1}), 409, "other-job")
    is_problem(control.ask("analyst", "PUT", f"{at}/tuesday", {"round": 2}), 404, "not-here")
    is_problem(control.ask("analyst", "GET", f"{at}/tuesday"), 404, "not-here")
    is_problem(control.ask("analyst", "PUT", f"{at}/a%20b", {"round": 0}), 422)
    waiting = control.ask("analyst", "GET", f"{at}/monday")
    assert (waiting.status_code, waiting.content) == (202, b"")
    assert 0 < int(waiting.headers["Retry-After"]) <= 3600
    found: list[int] = []

    def race(number: int) -> None:
        answer = control.ask("analyst", "PUT", f"{at}/raced", {"round": number})
        found.append(answer.status_code)

    threads = [threading.Thread(target=race, args=(i % 2,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == [201] * 4 + [409] * 4
    ids = [one for (one,) in control.fleet.sql("SELECT id FROM fleet.job ORDER BY id")]
    assert ids == ["monday", "raced"]


def test_a_round_is_collected_at_its_time_and_no_answer_is_anywhere_else(
    control: Any, drivers: Callable[..., Any], clients: ModuleType
) -> None:
    whole_round(control, drivers, clients, delay=1)


def whole_round(control: Any, drivers: Callable[..., Any], clients: ModuleType, delay: int) -> None:
    """From the task to the release, over HTTP and by a driver."""
    fleet = control.fleet
    task_id = applied(control)
    task, _, _ = control.store.task(bytes.fromhex(task_id))
    shift(fleet, 18 * 3600 - 15)
    turn(control.store, fleet.door())
    opened = control.store.round(task.id, 0)
    assert upload(fleet.door(), task, cut(reports(task, opened.descriptor), 100))
    driver = drivers()
    at, now = f"/tasks/{task_id}/rounds/0", control.store.now
    job = f"/tasks/{task_id}/collection_jobs/a"
    assert control.ask("analyst", "PUT", job, {"round": 0}).status_code == 201
    shown_at = opened.descriptor.closes + delay
    assert control.ask("reader", "GET", at).json()["shown_at"] == shown_at
    early = 0
    while now() < shown_at - 1:
        time.sleep(0.3)
        seen = control.ask("analyst", "GET", job)
        is_early = now() < shown_at
        assert seen.status_code == 202 or not is_early, "shown before its time"
        early += is_early
    assert early > 0
    clients.wait_until(lambda: control.ask("analyst", "GET", job).status_code == 200, 60)
    assert now() >= shown_at
    collected = control.ask("analyst", "GET", job)
    release = control.ask("owner", "GET", f"{at}/release")
    assert collected.json()["release"] == release.json()
    assert control.ask("analyst", "GET", f"{at}/release").content == release.content
    rows = {row["group"]: row["count"] for row in release.json()["rows"]}
    assert rows == truth(task) == counts(fleet.door().shown(task.id, 0))
    paid = release.json()["statement"]
    assert (paid["account"], paid["entry"], paid["part"]) == (ACCOUNT, opened.entry, 0)
    driver.end()
    dumped = subprocess.run(
        ["/usr/lib/postgresql/15/bin/pg_dump", fleet.address], capture_output=True, check=True
    ).stdout
    logs = control.printed.read_bytes() + driver.printed.read_bytes()
    for text in (dumped, logs, *control.said):
        assert CANARY.encode() not in text
        assert CANARY.encode().hex().encode() not in text
    fleet.is_in_order(task, 1)
