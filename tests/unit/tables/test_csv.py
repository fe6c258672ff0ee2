"""CSV: what the dialect allows, what a line is, and what is said when a file is not as declared."""

from __future__ import annotations

import gzip
import io
import random
import re
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import SchemaError, UsageError
from headcount.tables import Kind, open_table
from headcount.tables.csv import Csv
from headcount.tables.csv_lines import Lines
from headcount.tables.source import Options
from headcount.trials.reading import rows_read

PIECES = [b"a", b"bc", b",", b";", b"'", b'"', b'""', b'","', b"\r", b"\n", b"\0", b"\xff",
          b"\xc3\xa9", b"\xc3", b"\xf0\x9f\x98\x80", b"x" * 30]  # fmt: skip


def reference(data: bytes, csv: Csv, longest: int) -> list[bytes]:
    """The rule in plain Python."""
    lines = [line for line in re.split(rb"[\r\n]", data.removeprefix(b"\xef\xbb\xbf")) if line]
    kept = []
    for line in lines[1:] if csv.header else lines:
        try:
            fields = csv.fields(line.decode())
        except UnicodeDecodeError:
            continue
        if fields is not None and len(line) <= longest:
            kept.append(line)
    return kept


@pytest.mark.parametrize("seed", range(8))
def test_lines_are_those_of_the_rule_wherever_blocks_end(seed: int) -> None:
    chooser = random.Random(seed)
    for _ in range(60):
        csv = chooser.choice(
            [Csv(), Csv(quote=None), Csv(";", "'"), Csv(header=False, columns=["a"])]
        )
        weights = [chooser.choice([0, 1, 5]) for _ in PIECES]
        weights[0], weights[9] = 3, 2
        data = b"".join(chooser.choices(PIECES, weights, k=chooser.choice([0, 1, 5, 50, 500])))
        data = chooser.choice([b"", b"\xef\xbb\xbf"]) + data
        longest = chooser.choice([10, 40, 100])
        lines = Lines(io.BytesIO(data), csv, block=chooser.choice([1, 7, 50, 1000]),
                      longest=longest)  # fmt: skip
        got = b""
        while part := lines.read(chooser.choice([1, 7, 999])):
            got += part
        assert [line for line in got.split(b"\n") if line] == reference(data, csv, longest)


def test_fields_of_a_line() -> None:
    csv = Csv()
    assert csv.fields('a,"b,c",""') == ["a", "b,c", ""]
    assert csv.fields('"a ""b"" c",') == ['a "b" c', ""]
    assert csv.fields(",a") == ["", "a"]
    for malformed in ('a,"b', 'a"b,c', '"a"b,c', '"a" ,c', 'a,""b'):
        assert csv.fields(malformed) is None


@pytest.mark.parametrize(
    "said",
    [
        {"delimiter": ",,"}, {"delimiter": ""}, {"delimiter": "\n"}, {"delimiter": "a"},
        {"delimiter": "é"}, {"delimiter": 5}, {"quote": ","}, {"quote": "ab"}, {"header": 1},
        {"header": False}, {"columns": ["a"]}, {"header": False, "columns": "ab"},
        {"header": False, "columns": ["a", "a"]}, {"header": False, "columns": ["a", ""]},
        {"header": False, "columns": [1]},
    ],
)  # fmt: skip
def test_a_dialect_that_makes_no_sense_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Csv(**said)


def rows(path: Path, user: str = "u", **said: Any) -> dict[tuple[Any, ...], int]:
    return dict(rows_read(open_table(path, user=user, options=Options(**said))))


def test_every_departure_is_an_argument(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"ann;'it''s';1\nbob;x;2\n")
    said = Csv(";", "'", header=False, columns=["u", "g", "n"])
    want = {("it's", "1.0", "ann"): 1, ("x", "2.0", "bob"): 1}
    assert rows(path, csv=said, types={"n": "number"}) == want


def test_types_are_declared_and_cells_that_do_not_fit_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    cells = ["1", "+1", "01", "-7", "1.5", "1e3", "", " 1", "9223372036854775807",
             "9223372036854775808", "x"]  # fmt: skip
    path.write_text("u,n\n" + "".join(f"u,{cell}\n" for cell in cells))
    got = rows(path, types={"n": "integer"})
    assert got == {("1", "u"): 3, ("-7", "u"): 1, ("9223372036854775807", "u"): 1, (None, "u"): 6}
    table = open_table(path, user="u", options=Options(types={"n": "timestamp"}))
    assert table.columns["n"] is Kind.TIME
    assert "n is read as timestamp; a cell that is none counts as missing." in table.rules


@pytest.mark.parametrize(
    ("types", "said"),
    [({"n": "int"}, "must be one of"), ({"nobody": "text"}, "names the column 'nobody'"),
     ({"u": "integer"}, "two users could become one"), ("integer", "types must be like")],
)  # fmt: skip
def test_types_that_cannot_be_are_refused(types: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("u,n\n1,2\n")
    with pytest.raises(UsageError, match=said):
        open_table(tmp_path / "x.csv", user="u", options=Options(types=types))


@pytest.mark.parametrize(
    "first", [b'u,"secret', b"u,\xffsecret", b"secret,secret", b"", b"u," + b"s" * 3_000_000]
)
def test_a_first_line_that_is_no_header_is_refused_without_a_word_of_it(
    first: bytes, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_bytes(first)
    with pytest.raises(UsageError, match=r"cannot hold the names|no column has a name") as raised:
        open_table(tmp_path / "x.csv", user="u")
    assert "secret" not in str(raised.value)


def test_files_with_other_first_lines_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,g\n")
    (tmp_path / "b.csv").write_text("u,secret\n")
    with pytest.raises(UsageError, match="differ in their first lines") as raised:
        open_table(str(tmp_path / "*.csv"), user="u")
    assert "secret" not in str(raised.value)


def test_names_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,g,G\n")
    with pytest.raises(UsageError, match="upper and lower case"):
        open_table(tmp_path / "a.csv", user="u")


def test_a_compressed_file_is_read_up_to_its_damage(tmp_path: Path) -> None:
    data = gzip.compress(b"u,g\n" + b"".join(b"u%d,g\n" % i for i in range(200_000)))
    (tmp_path / "x.csv.gz").write_bytes(data[: len(data) // 2])
    assert sum(rows(tmp_path / "x.csv.gz").values()) in range(1, 200_000)


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("u,g")
    assert rows(tmp_path / "x.csv") == {}


def test_columns_of_a_csv_file_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("ann,oncology\n")
    with pytest.raises(SchemaError, match="first line") as raised:
        open_table(tmp_path / "x.csv", user="user")
    assert "oncology" not in str(raised.value)
