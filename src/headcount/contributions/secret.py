"""The secret key of a release beside every row, as data of the engine.

Engines write their queries down: in logs, in histories, on pages of running statements. Whoever
finds a key there can choose and toss again what was chosen and tossed under it [K3]. So the key is
the one row of a relation, which engines load and do not spell.
"""

from __future__ import annotations

from typing import Any

from headcount.tables.engine import Engine

KEY = "hc_key"


def beside_key(engine: Engine, rows: Any, key: bytes) -> tuple[Any, Any]:
    """The rows with the key in a further column, and the key's hex digits as a text.

    Whoever asks for it selects other columns from there on: the key ends with its hash.
    """
    import pyarrow as pa

    digits = pa.table({KEY: pa.array([key.hex()], pa.string())})
    if KEY in rows.columns:
        rows = rows.drop(KEY)  # a join would keep the older one of two
    beside = rows.cross_join(engine.relation(digits))
    return beside, beside[KEY]
