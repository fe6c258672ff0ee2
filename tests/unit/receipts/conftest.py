"""A release with its receipt, as a person makes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.ledger.keys import SigningKey
from headcount.receipts.form import canonical


@dataclass(frozen=True)
class Made:
    """Two releases of one account, and the receipt of each."""

    data: Any
    release: Any
    other: Any
    key: SigningKey

    @property
    def body(self) -> dict[str, Any]:
        return dict(json.loads(self.release.receipt()))

    def signed(self, body: dict[str, Any], key: SigningKey | None = None) -> bytes:
        """The receipt as its owner, or another, would sign it."""
        own = key or self.key
        signature = {"key": own.public, "value": own.sign(canonical(body))}
        return json.dumps({**body, "signature": signature}).encode()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("receipts")
    rows = [
        (f"u{i}", place) for i in range(40) for place in ("=a", "b", "c") if i % 3 or place > "a"
    ]
    user, place = zip(*rows, strict=True)
    pq.write_table(pa.table({"user": user, "place": place}), folder / "rows.parquet")
    data = hc.open(
        folder / "rows.parquet",
        user="user",
        budget=hc.Budget(epsilon=20, delta=1e-6),
        ledger=folder / "ledger.db",
    )
    groups = ["=a", "b", "c"]
    spend = hc.Budget(epsilon=4)
    release = data.count_users("place", groups=groups, spend=spend).release()
    other = data.count_users("place", groups=groups, bound=1, spend=spend).release()
    return Made(data, release, other, data.ledger.signing_key())
