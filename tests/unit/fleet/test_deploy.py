"""Units and containers that are shipped: commands that there are, with the rights they need."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from headcount.cli.commands import app

DEPLOY = Path(__file__).parents[3] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
PROGRAMS = {"core", "ingest", "relay", "driver", "control"}
DATABASE = {"ingest", "driver", "control"}
"""Who reaches the database: neither the core nor the relay."""
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
CONTAINERS = {name: one for name, one in COMPOSE["services"].items() if name != "postgres"}


def parsed(words: list[str]) -> str:
    """The command that these words are, refused if they are none."""
    command: Any = typer.main.get_command(app)
    path: list[str] = []
    while hasattr(command, "commands"):
        word, *words = words
        command = command.commands[word]
        path.append(word)
    command.make_context(path[-1], list(words))
    return " ".join(path)


def lines(unit: Path) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, equals, value in (one.partition("=") for one in unit.read_text().splitlines())
        if equals and not name.startswith("#")
    ]


def test_there_is_a_unit_and_a_container_for_each_program() -> None:
    assert {one.stem.removeprefix("headcount-") for one in UNITS} == PROGRAMS
    assert {name.partition("-")[0] for name in CONTAINERS} == PROGRAMS


@pytest.mark.parametrize("unit", UNITS, ids=lambda one: one.stem)
def test_a_unit_starts_a_command_with_as_few_rights_as_it_needs(unit: Path) -> None:
    name, said = unit.stem.removeprefix("headcount-"), dict(lines(unit))
    program, *words = shlex.split(said["ExecStart"])
    assert program.endswith("/headcount")
    assert parsed(words).startswith("fleet ")
    for key in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices"):
        assert said[key] == "yes"
    assert said["ProtectSystem"] == "strict"
    assert said["CapabilityBoundingSet"] == ""
    assert said["LimitCORE"] == "0"
    assert (said.get("PrivateNetwork") == "yes") == (name == "core")
    assert ("EnvironmentFile" in said) == (name in DATABASE)
    if name == "core":
        assert said["MemorySwapMax"] == "0"
    if name == "driver":
        assert said["InaccessiblePaths"] == "/var/lib/headcount-core"
    assert said["User"] != "root"


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_starts_a_command_with_as_few_rights_as_it_needs(name: str) -> None:
    one, kind = CONTAINERS[name], name.partition("-")[0]
    assert parsed(["fleet", *one["command"]]).startswith("fleet ")
    assert one["read_only"]
    assert one["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in one["security_opt"]
    assert (one.get("network_mode") == "none") == (kind == "core")
    assert ("inside" in one.get("networks", ())) == (kind in DATABASE)
    assert ("env_file" in one) == (kind in DATABASE)
    assert any(volume.startswith("keys:") for volume in one.get("volumes", ())) == (kind == "core")
    assert all(port.startswith("127.0.0.1:") for port in one.get("ports", ()))


def test_secrets_and_volumes_that_are_named_are_there() -> None:
    for one in COMPOSE["services"].values():
        assert set(one.get("secrets", ())) <= set(COMPOSE["secrets"])
        named = {volume.partition(":")[0] for volume in one.get("volumes", ())}
        assert named <= set(COMPOSE["volumes"])
        assert set(one.get("networks", ())) <= set(COMPOSE["networks"])


def test_a_command_that_is_none_is_found_out() -> None:
    with pytest.raises(Exception, match="requires an argument"):
        parsed(["fleet", "relay", "--devices"])
    with pytest.raises(Exception, match="No such option"):
        parsed(["fleet", "core", "--no-such-option", "3"])
    with pytest.raises(KeyError):
        parsed(["fleet", "core2"])
