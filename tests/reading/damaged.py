"""Damaged files, made anew each time: lines, pages, footers and types that no writer means.

Every cell holds the canary, so that a message which quotes one is seen.
"""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CANARY = "zebrafish"
MARKS = [b'"', b"'", b",", b"\n", b"\r", b"\0", b"\xff", b"\xc3", b"\t", b";", b"#", b"\\"]


def mutated(data: bytes, chooser: random.Random, low: int = 0, high: int | None = None) -> bytes:
    """Some bytes changed, left out, put in, or cut off."""
    changed = bytearray(data)
    for _ in range(chooser.choice([1, 1, 2, 5, 20])):
        end = min(len(changed), high or len(changed))
        place = chooser.randrange(low, max(low + 1, end))
        match chooser.randrange(5):
            case 0:
                changed[place : place + 1] = bytes([chooser.randrange(256)])
            case 1:
                del changed[place : place + chooser.choice([1, 3, 50])]
            case 2:
                changed[place:place] = chooser.choice(MARKS) * chooser.choice([1, 2, 7])
            case 3:
                changed[place : place + 4] = chooser.randbytes(4)
            case _ if chooser.random() < 0.2:
                del changed[place:]
    return bytes(changed)


def csv_bytes(chooser: random.Random) -> bytes:
    quoted = chooser.random() < 0.5
    cell = f'"{CANARY} %d"' if quoted else f"{CANARY} %d"
    n = chooser.choice([0, 1, 30, 300])
    lines = [f"u{i % 50},{cell % (i % 4)},{i},2026-01-0{i % 7 + 1}" for i in range(n)]
    end = chooser.choice(["\n", "\r\n", "\r"])
    return end.join(["u,g,x,t", *lines]).encode()


def damaged_csv(folder: Path, chooser: random.Random) -> Any:
    data = csv_bytes(chooser)
    match chooser.randrange(6):
        case 0:
            data = data.decode().encode(chooser.choice(["utf-16", "utf-32", "utf-8-sig"]))
        case 1:
            data += b"\nv," + CANARY.encode() * chooser.choice([200_000, 300_000, 2_000_000])
        case 2:
            data = data.replace(b"\n", chooser.choice(MARKS))
        case _:
            data = mutated(data, chooser, low=chooser.choice([0, 8, 8]))
    path = folder / "x.csv"
    if chooser.random() < 0.3:
        path = folder / "x.csv.gz"
        data = gzip.compress(data)
        data = mutated(data, chooser) if chooser.random() < 0.5 else data
    path.write_bytes(data)
    return path


def odd_column(chooser: random.Random, n: int) -> pa.Array:
    """A column of any type, with any values of it."""
    whole = pa.array([chooser.choice([0, 1, -1, 2**62, -(2**63)]) for _ in range(n)], pa.int64())
    small = pa.array(
        [chooser.choice([0, 1, -1, 2**31 - 1, -(2**31)]) for _ in range(n)], pa.int32()
    )
    texts = [chooser.choice([CANARY, "", "\0", "é" * 9]).encode() for _ in range(n)]
    texts[0] = chooser.choice([b"\xff\xfe", b"\xed\xa0\x80", b"ok"])
    doubles = [chooser.choice([0.0, -0.0, 5e-324, 1e308, float("nan"), float("inf")])
               for _ in range(n)]  # fmt: skip
    exact = pa.array([Decimal(10**37), Decimal(-(10**37))] * n, pa.decimal128(38, 0))[:n]
    makers: list[Callable[[], pa.Array]] = [
        lambda: pa.array(texts, pa.binary()).view(pa.string()),
        lambda: pa.array(texts, pa.binary()),
        lambda: pa.array(texts, pa.binary()).view(pa.string()).dictionary_encode(),
        lambda: whole.view(pa.timestamp(chooser.choice(["ms", "us", "ns"]))),
        lambda: whole.view(pa.timestamp(chooser.choice(["ms", "us", "ns"]), "UTC")),
        lambda: small.view(pa.date32()),
        lambda: pa.array(doubles),
        lambda: pa.array(doubles, pa.float32(), safe=False),
        lambda: exact,
        lambda: exact.cast(pa.decimal256(50, 5)),
        lambda: pa.array([[CANARY]] * n),
        lambda: pa.array([{"a": CANARY}] * n),
        lambda: whole.view(pa.uint64()),
        lambda: pa.nulls(n),
        lambda: pa.array([i % 2 == 0 for i in range(n)]),
        lambda: small.view(pa.time32("s")),
    ]
    try:
        return chooser.choice(makers)()
    except (pa.ArrowInvalid, OverflowError):
        return whole


def damaged_parquet(folder: Path, chooser: random.Random) -> Any:
    n = chooser.choice([1, 30, 300])
    table = pa.table(
        {
            "u": [f"u{i % 50} {CANARY}" for i in range(n)],
            "g": [f"{CANARY} {i % 4}" for i in range(n)],
            "x": pa.array(range(n)),
            "t": pa.array([10**15 + i for i in range(n)], pa.timestamp("us")),
        }
    )
    for name in table.column_names:
        if chooser.random() < 0.25:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, odd_column(chooser, n))
    sink = io.BytesIO()
    pq.write_table(
        table, sink,
        compression=chooser.choice(["none", "snappy", "zstd", "gzip"]),
        row_group_size=chooser.choice([1, 50, 1000]),
        data_page_version=chooser.choice(["1.0", "2.0"]),
        use_dictionary=chooser.random() < 0.5,
    )  # fmt: skip
    data = sink.getvalue()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    match chooser.randrange(5):
        case 0:
            pass
        case 1:
            data = mutated(data, chooser, low=footer)
        case _:
            # Pages alone, their lengths kept, so that the footer still finds them.
            changed = bytearray(data)
            for _ in range(chooser.choice([1, 2, 10])):
                changed[chooser.randrange(4, footer)] = chooser.randrange(256)
            data = bytes(changed)
    (folder / "x.parquet").write_bytes(data)
    if chooser.random() < 0.2:
        pq.write_table(table, folder / "y.parquet")
        return str(folder / "*.parquet")
    return folder / "x.parquet"


def damaged_file(folder: Path, chooser: random.Random) -> Any:
    """One damaged file, and what opens it."""
    return chooser.choice([damaged_csv, damaged_parquet])(folder, chooser)
