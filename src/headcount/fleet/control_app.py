"""The control API: its routes, what each needs of a token, and the document that describes them."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import Request

from headcount.errors import HeadcountError
from headcount.fleet import control_views as views
from headcount.fleet.control import Control
from headcount.fleet.control_guard import NEEDS, Guard, ScopedRoute, methods_at
from headcount.fleet.control_pages import add_pages
from headcount.fleet.control_problems import ProblemError, described, response_of
from headcount.fleet.schedule import CANCEL, OPEN, OPENED

TaskId = Annotated[str, InPath(pattern="^[0-9a-f]{64}$", description="the hash that names a task")]
Number = Annotated[int, InPath(ge=0, le=999, description="which round, from 0")]
JobId = Annotated[str, InPath(pattern="^[A-Za-z0-9_-]{1,64}$", description="a name of your own")]
USUAL = (401, 403, 422, 500, 503)
ROUND = "/tasks/{task}/rounds/{number}"
JOB = "/tasks/{task}/collection_jobs/{job}"


class _Described(FastAPI):
    """An application whose document says how it refuses, too."""

    def openapi(self) -> dict[str, Any]:
        """The document."""
        found = super().openapi()
        found["components"]["schemas"]["Problem"] = views.Problem.model_json_schema()
        return found


def create_app(control: Control) -> FastAPI:
    """The application."""
    app = _Described(
        title="headcount fleet control",
        version="1",
        description="Tasks, rounds, collection jobs and releases of a fleet.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.control = control
    app.router.route_class = ScopedRoute
    app.add_middleware(Guard)
    _refusals(app)
    for part in (_health, _tasks, _rounds, _orders, _jobs, add_pages):
        part(app, control)
    return app


def openapi_text() -> str:
    """The document of the API, for which no fleet is asked."""
    app = create_app(cast(Control, None))
    return json.dumps(app.openapi(), indent=1, sort_keys=True) + "\n"


def _refusals(app: FastAPI) -> None:
    async def told(_request: Request, error: Exception) -> Response:
        return response_of(error)

    async def invalid(_request: Request, _error: Exception) -> Response:
        return response_of(ProblemError("not-as-described"))

    async def http(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 405:
            allow = {"Allow": methods_at(app.routes, request.scope)}
            return response_of(ProblemError("wrong-method", headers=allow))
        return response_of(ProblemError("not-here" if status == 404 else "not-as-described"))

    app.add_exception_handler(HeadcountError, told)
    app.add_exception_handler(ProblemError, told)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def _health(app: FastAPI, _control: Control) -> None:
    @app.get("/healthz", operation_id="health")
    async def health() -> views.Health:
        """Whether the process answers."""
        return views.Health()


def _may(scope: str, *statuses: int) -> dict[str, Any]:
    """What a route needs and refuses with."""
    return {
        "openapi_extra": {NEEDS: scope},
        "dependencies": [Depends(HTTPBearer(auto_error=False, scheme_name="token"))],
        "responses": described(*sorted({*USUAL, *statuses})),
    }


def _tasks(app: FastAPI, control: Control) -> None:
    @app.post(
        "/tasks", status_code=201, operation_id="apply_task", **_may("apply", 400, 402, 404, 409)
    )
    def apply(given: views.TaskGiven, response: Response) -> views.TaskShown:
        """Apply a task: charge its account for all rounds, then keep it. Again is not charged."""
        one = control.apply(given.model_dump(exclude_unset=True))
        response.headers["Location"] = f"/tasks/{one.task.id.hex()}"
        return views.task_shown(one)

    @app.get("/tasks", operation_id="list_tasks", **_may("look"))
    def tasks() -> list[views.TaskShown]:
        """All tasks, oldest first."""
        return [views.task_shown(one) for one in control.store.tasks()]

    @app.get("/tasks/{task}", operation_id="show_task", **_may("look", 404))
    def task(task: TaskId) -> views.TaskShown:
        """One task."""
        return views.task_shown(control.applied(task))


def _rounds(app: FastAPI, control: Control) -> None:
    @app.get("/tasks/{task}/rounds", operation_id="list_rounds", **_may("look", 404))
    def rounds(task: TaskId) -> list[views.RoundShown]:
        """The rounds of a task, in order."""
        return control.rounds(control.applied(task))

    @app.get(ROUND, operation_id="show_round", **_may("look", 404))
    def round_(task: TaskId, number: Number) -> views.RoundShown:
        """One round."""
        return control.round(control.applied(task), number)

    @app.get(
        f"{ROUND}/release",
        operation_id="show_release",
        **_may("collect", 404, 409),
    )
    def release(task: TaskId, number: Number) -> views.ReleaseShown:
        """What a round shows, with the statement's entry that paid for it."""
        return control.release(control.applied(task), number)


def _orders(app: FastAPI, control: Control) -> None:
    may = _may("drive", 404, 409)

    @app.post(f"{ROUND}/open", status_code=202, operation_id="open_round", **may)
    def open_(task: TaskId, number: Number) -> views.RoundShown:
        """Open a round before its time. The driver does it; again is nothing."""
        one = control.applied(task)
        if control.order(one, number, OPEN) == CANCEL:
            raise ProblemError("called-off")
        return control.round(one, number)

    @app.post(f"{ROUND}/close", operation_id="close_round", **may)
    def close(task: TaskId, number: Number) -> views.RoundShown:
        """Take no more reports for a round. It is shown when it would have been."""
        one = control.applied(task)
        control.close(one, number)
        return control.round(one, number)

    @app.post(f"{ROUND}/cancel", operation_id="cancel_round", **may)
    def cancel(task: TaskId, number: Number) -> views.RoundShown:
        """Call a round off that was never opened. What was charged stays charged."""
        one = control.applied(task)
        if control.order(one, number, CANCEL) == OPENED:
            raise ProblemError("opened")
        return control.round(one, number)


def _jobs(app: FastAPI, control: Control) -> None:
    waiting: dict[int | str, dict[str, Any]] = {
        202: {"description": "Nothing is shown yet; ask again after Retry-After seconds."}
    }
    may = _may("collect", 404, 409)

    @app.put(JOB, status_code=201, operation_id="make_job", **may)
    def make(task: TaskId, job: JobId, given: views.JobGiven, response: Response) -> views.JobShown:
        """Ask for what a round shows, under a name of your own. The same again is the same."""
        one = control.applied(task)
        found = control.store.make_job(one.task.id, job, given.round)
        if found is None:
            raise ProblemError("not-here")
        if found != given.round:
            raise ProblemError("other-job")
        response.headers["Location"] = f"/tasks/{task}/collection_jobs/{job}"
        return views.JobShown(job=job, task=task, round=found, state="collecting")

    may["responses"] = {**may["responses"], **waiting}

    @app.get(JOB, operation_id="show_job", response_model=views.JobShown, **may)
    def show(task: TaskId, job: JobId) -> Any:
        """What came of a collection job."""
        one = control.applied(task)
        number = control.store.job(one.task.id, job)
        if number is None:
            raise ProblemError("not-here")
        found = control.round(one, number)
        if found.state == "cancelled":
            return views.JobShown(job=job, task=task, round=number, state="cancelled")
        if found.state != "released":
            wait = min(max(found.shown_at - control.store.now(), 1), 3600)
            return Response(status_code=202, headers={"Retry-After": str(wait)})
        shown = control.release(one, number)
        return views.JobShown(job=job, task=task, round=number, state="released", release=shown)
