"""The record for the public registry: its fields, its words, and what people must fill in."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from headcount.cli.commands import app
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.registry import FILL, registry_record
from headcount.privacy.budget import Budget
from headcount.privacy.event import Composed, GaussianNoise, GaussianThreshold
from headcount.privacy.neighbours import Neighbours

# Names and words of the schema at commit 3e9c812, as far as they are required or closed.
REQUIRED = {
    "": {"url_slug", "status", "tier", "deployment"},
    "deployment": {"basic"},
    "deployment/basic": {
        *("name", "data_curators", "description", "intended_use", "data_product_type"),
        *("data_product_region", "publication_date"),
    },
    "deployment/administrative": {"registry_authors"},
}
KNOWN = {
    "deployment": {
        *("basic", "dp_variant", "privacy_loss", "deployment_model", "accounting"),
        *("implementation", "administrative"),
    },
    "deployment/dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "deployment/privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "privacy_parameters"),
        "privacy_parameters_details",
    },
    "deployment/privacy_loss/privacy_parameters": {"epsilon", "delta", "rho"},
    "deployment/deployment_model": {
        *("model_name", "model_name_details", "actors", "release_type", "release_type_details"),
        *("data_source_type", "data_source_type_details", "access_type", "access_type_details"),
    },
    "deployment/accounting": {"post_processing", "composition"},
    "deployment/implementation": {
        *("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"),
    },
    "deployment/administrative": {"sources", "notes", "registry_authors"},
}
WORDS: dict[str, set[Any]] = {
    "status": {"Draft"},
    "tier": {1, 2, 3},
    "deployment/basic/data_product_type": {"Summary statistics"},
    "deployment/dp_variant/variant_name": {"Approximate DP"},
    "deployment/deployment_model/model_name": {"Central"},
    "deployment/deployment_model/release_type": {"One release", "Many releases"},
    "deployment/deployment_model/data_source_type": {"Static", "Dynamic"},
    "deployment/deployment_model/access_type": {"Interactive", "Non-interactive"},
}


def at(record: Any, path: str) -> Any:
    for name in filter(None, path.split("/")):
        record = record[name]
    return record


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_the_record_has_the_fields_of_the_schema(
    tmp_path: Path, neighbours: Neighbours, n: int
) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    name = 'events: "all"\n- of\\us #1'
    ledger.open_account(name, Budget(epsilon=3, delta=1e-9), neighbours)
    events = [GaussianNoise(Fraction(1), Fraction(50 + k)) for k in range(2)]
    found = GaussianThreshold(Fraction(1), Fraction(90), Fraction(1, 10**12))
    for k in range(n):
        ledger.charge(
            ledger.opening(name),
            key=f"k{k}",
            request_hash=f"k{k}",
            verb="count_users",
            event=Composed((*events, found)),
            neighbours=neighbours,
            about={"user": "it's: me", "by": "page"},
        )
    out = tmp_path / "record.yaml"
    words = ["ledger", "registry", name, "--ledger", str(tmp_path / "ledger.db"), "--out", str(out)]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    record = yaml.safe_load(out.read_text())
    for path, names in REQUIRED.items():
        assert names <= at(record, path).keys()
    for path, names in KNOWN.items():
        assert at(record, path).keys() <= names
    for path, allowed in WORDS.items():
        assert at(record, path) in allowed
    loss = record["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 3.0, "delta": 1e-9}
    assert f"by {n} release(s)" in loss["privacy_parameters_details"]
    assert ("it's: me" in loss["privacy_unit_details"]) == (n > 0)
    day = record["deployment"]["basic"]["publication_date"]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", day)
    assert re.fullmatch(r"[a-z0-9_]+", record["url_slug"])
    assert FILL in record["deployment"]["basic"]["name"]
    assert (
        "Gaussian noise and threshold" in record["deployment"]["implementation"]["mechanisms"]
    ) == (n > 0)


def test_an_account_that_is_not_there_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_account("web", Budget(epsilon=3))
    ran = CliRunner().invoke(app, ["ledger", "registry", "x", "--ledger", ledger.address])
    assert "no account" in str(ran.exception)


@pytest.mark.parametrize(
    ("verbs", "model"),
    [
        (("count_users",), "Central"),
        (("fleet",), "Federated"),
        (("count_users", "fleet"), "Varies"),
    ],
)
def test_answers_of_devices_are_not_called_central(
    tmp_path: Path, verbs: tuple[str, ...], model: str
) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_account("phones", Budget(epsilon=3, delta=1e-6))
    for verb in verbs:
        ledger.charge(
            ledger.opening("phones"),
            key=verb,
            request_hash=verb,
            verb=verb,
            event=GaussianNoise(Fraction(1), Fraction(90)),
            neighbours=Neighbours.ADD_REMOVE,
            about={},
        )
    said = yaml.safe_load(registry_record(ledger, "phones"))["deployment"]["deployment_model"]
    assert said["model_name"] == model
    assert ("core" in said["model_name_details"]) == ("fleet" in verbs)
    assert ("holds the table" in said["model_name_details"]) == ("count_users" in verbs)
