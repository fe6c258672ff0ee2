"""Where chance comes from: a mechanism draws from what it is handed, and from nothing else.

An auditor sees what is asked of the chance that it hands out. What is drawn from elsewhere it could
not see, so there is no elsewhere: names that give entropy stand in the places listed here and in no
others, each for a reason.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import headcount

SOURCE = Path(headcount.__path__[0])
NAMES_OF_TABLES = "names of tables and files that last as long as a release"

MAY = {
    "OsEntropy": {
        "noise/entropy.py": "it is made here",
        "mechanisms/chance.py": "the one generator of the process",
    },
    "SYSTEM": {"mechanisms/chance.py": "the one generator of the process"},
    "Drawn": {
        "mechanisms/chance.py": "it is made here",
        "mechanisms/bucket_chance.py": "from words under the key of a run, beside the data",
        "releases/run.py": "the door hands it to a release",
        "fleet/core_noise.py": "the core draws the noise of a round of devices",
        "streams/stream.py": "a stream draws as it is made, opened and written",
        "cli/stream.py": "a new stream's file is made without a stream",
        "trials/": "an auditor draws outputs of mechanisms, from the system and from scripts",
    },
    "KeyedEntropy": {
        "noise/keyed.py": "it is made here",
        "mechanisms/bucket_chance.py": "for one bucket of one run",
    },
    "bucket_chance": {
        "releases/wide/write.py": "whoever draws beside the data is sent the key of the run",
        "trials/": "an auditor's own buckets",
    },
    "urandom": {
        "noise/entropy.py": "the key of the generator",
        "audit/exact.py": "words at which a law is tried; nothing is released",
        "trials/sample_threshold.py": "the secret of a sample that is tried",
    },
    "secrets": {
        "fleet/device_secret.py": "the secret of a device, by which its coins fall",
        "fleet/relay_mix.py": "the order of reports in a post, and how long it waits",
        "fleet/relay_once.py": "keys under which a relay knows devices while a round is open",
        "fleet/senders.py": "tokens of devices and relays",
        "fleet/simulate.py": "the key from which made-up devices follow",
        "fleet/simulate_fleet.py": "the password of a database that lasts as long as a simulation",
        "fleet/tokens.py": "tokens of people who use the control API",
        "releases/run.py": "the secret of a release",
        "streams/terms.py": "public seeds and names of streams",
        "trials/pan_private.py": "the moment of an intrusion that is tried",
        "contributions/store.py": NAMES_OF_TABLES,
        "tables/duckdb.py": NAMES_OF_TABLES,
        "tables/duckdb_schema.py": NAMES_OF_TABLES,
        "tables/postgres.py": NAMES_OF_TABLES,
        "tables/public.py": NAMES_OF_TABLES,
        "tables/sources.py": NAMES_OF_TABLES,
        "tables/spark.py": NAMES_OF_TABLES,
        "tables/spark_workers.py": "a word by which a folder is known again",
        "releases/wide/place.py": NAMES_OF_TABLES,
    },
    "uuid4": {
        "releases/run.py": "the key by which a release is shown again",
        "ledger/stores/migrations/versions/r0001_journal.py": "the name of a ledger",
    },
    "X25519PrivateKey": {"fleet/seal.py": "keys of rounds, which the library draws"},
    "Ed25519PrivateKey": {
        "fleet/owner_key.py": "keys of owners, which the library draws",
        "ledger/keys.py": "keys of receipts, which the library draws",
    },
    "getrandom": {"cli/doctor.py": "whether the system has any; nothing is drawn from it"},
    "SystemRandom": {},
}


def named(source: str) -> set[str]:
    """All that a module names: by name, by attribute, by import or by the text of its name.

    With a star it may name anything.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                names.add(name)
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                names |= set(MAY)
            case ast.ImportFrom(module=module, names=imported):
                names |= {*(module or "").split("."), *(one.name for one in imported)}
            case ast.Import(names=imported):
                names |= {part for one in imported for part in one.name.split(".")}
            case ast.ClassDef(name=name):
                names.add(name)
            case _:
                pass
    return names


def unlisted(path: str, source: str) -> list[str]:
    """What a module names and may not."""

    def is_at(place: str) -> bool:
        return path == place or (place.endswith("/") and path.startswith(place))

    return sorted(word for word in named(source) & set(MAY) if not any(map(is_at, MAY[word])))


def test_chance_comes_from_the_places_that_are_listed() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        assert not unlisted(where, path.read_text(encoding="utf-8")), where


def test_every_place_that_is_listed_is_one() -> None:
    for word, places in MAY.items():
        for place in places:
            if not place.endswith("/"):
                assert word in named((SOURCE / place).read_text(encoding="utf-8")), (word, place)


PLANTED = {
    "a generator of its own": (
        "from headcount.noise.entropy import OsEntropy\nOsEntropy().words(1)",
        ["OsEntropy"],
    ),
    "a generator by another name": (
        "from headcount.noise import entropy\nmine = entropy.OsEntropy\nmine()",
        ["OsEntropy"],
    ),
    "the system's generator": (
        "from headcount.mechanisms.chance import SYSTEM as source",
        ["SYSTEM"],
    ),
    "a chance of its own": (
        "from headcount.mechanisms.chance import Drawn\nDrawn().noisy(x, law)",
        ["Drawn"],
    ),
    "a chance by its module": (
        "from headcount.mechanisms import chance\nchance.Drawn().select(x, rate)",
        ["Drawn"],
    ),
    "a chance by its text": (
        "from headcount.mechanisms import chance\ngetattr(chance, 'Drawn')()",
        ["Drawn"],
    ),
    "whatever there is": ("from headcount.mechanisms.chance import *", sorted(MAY)),
    "the operating system": ("import os\nos.urandom(8)", ["urandom"]),
    "secrets": ("import secrets\nsecrets.randbelow(2)", ["secrets"]),
    "secrets by their text": (
        "from importlib import import_module\nimport_module('secrets')",
        ["secrets"],
    ),
    "a key of its own": ("from secrets import token_bytes\ntoken_bytes(32)", ["secrets"]),
    "a random name": ("from uuid import uuid4\nuuid4().int", ["uuid4"]),
}


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("path", ["mechanisms/gaussian.py", "releases/count_users/plan.py"])
def test_the_rule_can_fail(plant: str, path: str) -> None:
    source, found = PLANTED[plant]
    assert unlisted(path, source) == found


def test_a_mechanism_that_draws_for_itself_fails() -> None:
    """The shipped mechanism, with one word changed."""
    path = "mechanisms/gaussian.py"
    source = (SOURCE / path).read_text(encoding="utf-8")
    assert not unlisted(path, source)
    broken = source.replace("chance.noisy(", "Drawn().noisy(")
    assert broken != source
    assert unlisted(path, broken) == ["Drawn"]
