"""What the control API refuses with: problems of RFC 9457, in words that were written before.

The words of an error may name a folder, a host or what an account has left, and are not sent. What
a task file has wrong with it is, since that follows from the request alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse

from headcount.errors import (
    BudgetError,
    EngineError,
    FleetError,
    HeadcountError,
    KeyReusedError,
    LedgerError,
    NoAccountError,
    UsageError,
)

MEDIA = "application/problem+json"
SAID: dict[str, tuple[int, str]] = {
    "no-token": (401, "Send a token that is known and not over: Authorization: Bearer hc1..."),
    "not-allowed": (403, "This token is of a role that may not do this. Nothing was changed."),
    "not-here": (404, "There is nothing of this name here. Nothing was changed."),
    "not-shown": (404, "This round shows nothing yet. What is shown is there from shown_at on."),
    "wrong-method": (405, "This is not done by this method. See the header Allow."),
    "called-off": (409, "This round was called off, for good. Nothing was changed."),
    "opened": (409, "This round was opened before: it is closed, and not called off."),
    "not-opened": (409, "This round is not open yet. Nothing was changed."),
    "other-job": (409, "A job of this name is about another round. Choose another name."),
    "too-slow": (408, "The rest of the request did not come in time. Nothing was changed."),
    "too-large": (413, "A request has at most 65,536 bytes. Nothing was changed."),
    "not-as-described": (422, "The request is not as /openapi.json describes it."),
    "wrong-task": (400, "The task is not one that can be asked. Nothing was charged."),
    "no-plan": (
        400,
        "The account cannot pay for this task as it stands: it must be of the relation replace, "
        "the task must be over within a year, and its rounds before the task expires. Nothing was "
        "charged.",
    ),
}
OF_ERRORS: dict[type[HeadcountError], tuple[str, str]] = {
    UsageError: ("refused", "This cannot be done as it was asked. Nothing was changed."),
    BudgetError: ("no-budget", "The account cannot pay for this. Nothing was charged."),
    NoAccountError: ("no-account", "The ledger has no such account. Nothing was charged."),
    KeyReusedError: (
        "other-task",
        "A task of this name and expiry was applied before, with other words or terms. Name it "
        "otherwise. Nothing was charged.",
    ),
    LedgerError: (
        "ledger",
        "The ledger refuses: the population belongs to another account, or the ledger is not as "
        "it was left. Its owner runs: headcount ledger verify",
    ),
    EngineError: ("failed", EngineError.TEXT),
    FleetError: ("not-now", "The fleet cannot do this now. Asking again later is safe."),
    HeadcountError: ("failed", "This failed. What went wrong is withheld."),
}


@dataclass(eq=False)
class ProblemError(Exception):
    """A refusal by its name; ``detail`` only where it follows from the request alone."""

    name: str
    detail: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def response_of(error: Exception) -> JSONResponse:
    """How an error is told."""
    headers: Mapping[str, str] = {}
    if isinstance(error, ProblemError):
        name, headers = error.name, error.headers
        status, detail = SAID[name]
        detail = error.detail or detail
    else:
        kind = type(error) if isinstance(error, HeadcountError) else HeadcountError
        name, detail = next(OF_ERRORS[one] for one in kind.__mro__ if one in OF_ERRORS)
        status = kind.http_status
    if status == 503:
        headers = {**headers, "Retry-After": "5"}
    return _response(status, name, detail, headers)


def _response(status: int, name: str, detail: str, headers: Mapping[str, str]) -> JSONResponse:
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer", **headers}
    content = {"type": f"/problems/{name}", "title": name, "status": status, "detail": detail}
    return JSONResponse(content, status, dict(headers), MEDIA)


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same for the OpenAPI document."""
    schema = {"$ref": "#/components/schemas/Problem"}
    found = {"description": "Refused, in fixed words.", "content": {MEDIA: {"schema": schema}}}
    return dict.fromkeys(statuses, found)
