"""Pages of a fleet for people with a browser: tasks, rounds by the clock, budget, keys, releases.

A browser sends a token as the password of HTTP's Basic scheme, under any name, and these pages
alone take it so: nothing can be changed by them. Each is HTML that needs nothing else, without a
script.
They show what the control API shows, and no number that depends on what was sampled.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import Annotated

from fastapi import FastAPI, Response
from fastapi import Path as InPath

from headcount.errors import HeadcountError, LedgerError
from headcount.fleet import control_html as html
from headcount.fleet.control import Control
from headcount.fleet.control_guard import NEEDS, PAGE
from headcount.fleet.control_metrics import metrics_of
from headcount.fleet.metrics import MEDIA
from headcount.ledger.ledger import Ledger

TaskId = Annotated[str, InPath(pattern="^[0-9a-f]{64}$")]
Number = Annotated[int, InPath(ge=0, le=999)]
CHECK_SECONDS = 60.0
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
}


def add_pages(app: FastAPI, control: Control) -> None:
    """Add pages and numbers for whoever runs the fleet."""
    chain = Chain(control)

    @app.get("/readyz", include_in_schema=False)
    def ready() -> dict[str, str]:
        """Whether the database and the ledger answer."""
        control.store.now()
        Ledger(control.ledger).accounts()
        return {"status": "ok"}

    @app.get("/metrics", include_in_schema=False, openapi_extra={NEEDS: "look"})
    def metrics() -> Response:
        """Numbers as Prometheus reads them."""
        return Response(metrics_of(control), media_type=MEDIA)

    def page(path: str, scope: str = "look") -> dict[str, object]:
        return {"path": path, "include_in_schema": False, "openapi_extra": {NEEDS: scope, PAGE: 1}}

    @app.get(**page("/pages"))  # type: ignore[arg-type]
    def tasks() -> Response:
        """All tasks, their accounts, and whether the ledger is whole."""
        known = control.store.tasks()
        ledger = Ledger(control.ledger)
        accounts = [ledger.account(name) for name in sorted({one.account for one in known})]
        rounds = {one.task.id: control.rounds(one) for one in known}
        return _html(html.tasks_page(known, rounds, accounts, chain.said(), control.store.now()))

    @app.get(**page("/pages/{task}"))  # type: ignore[arg-type]
    def task(task: TaskId) -> Response:
        """One task and its rounds."""
        one = control.applied(task)
        ended = {n: found.has_ended for n, found in control.store.rounds(one.task.id).items()}
        account = Ledger(control.ledger).account(one.account)
        return _html(html.task_page(one, control.rounds(one), ended, account, control.store.now()))

    @app.get(**page("/pages/{task}/rounds/{number}", "collect"))  # type: ignore[arg-type]
    def round_(task: TaskId, number: Number) -> Response:
        """What a round shows."""
        one = control.applied(task)
        return _html(html.round_page(one, number, control.release(one, number)))


class Chain:
    """Whether the journal of the ledger is whole, worked out at most once a minute."""

    def __init__(self, control: Control) -> None:
        self._control, self._lock = control, Lock()
        self._found: tuple[float, str] | None = None

    def said(self) -> str:
        """In words."""
        with self._lock:
            if self._found is None or time.monotonic() - self._found[0] > CHECK_SECONDS:
                self._found = time.monotonic(), self._checked()
            return self._found[1]

    def _checked(self) -> str:
        try:
            Ledger(self._control.ledger).verify()
        except LedgerError:
            return html.BROKEN
        except HeadcountError:
            return "The ledger cannot be read just now."
        # Not how many there are: the last one says when a count ended.
        return html.WHOLE


def _html(text: str) -> Response:
    return Response(text, media_type="text/html; charset=utf-8", headers=HEADERS)
