"""Requests made from the OpenAPI document: every answer is one that the document describes."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.service.test_fleet_control import DOCUMENT, applied

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
CASES = 8


@pytest.mark.parametrize("role", ["owner", "reader"])
def test_every_answer_is_as_described(control: Any, role: str) -> None:
    schema = schemathesis.openapi.from_dict(json.loads(DOCUMENT.read_text()))
    task = applied(control)
    headers = {"Authorization": f"Bearer {control.tokens[role]}"}
    n_asked = 0
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]

        @hypothesis.settings(
            max_examples=CASES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(), is_here=hypothesis.strategies.booleans())
        def ask(case: Any, is_here: bool) -> None:
            nonlocal n_asked
            n_asked += 1
            if is_here and "task" in (case.path_parameters or {}):
                case.path_parameters["task"] = task
            response = case.call(base_url=control.url, headers=headers, timeout=60)
            # What a task may say has rules that no schema has.
            case.validate_response(response, excluded_checks=[positive_data_acceptance])
            assert response.status_code < 500

        ask()
    assert n_asked >= 10
    assert b"Traceback" not in control.printed.read_bytes()
