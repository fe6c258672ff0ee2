"""CSV files as one table of text columns: Arrow's reader behind a filter of lines.

Arrow was measured beside DuckDB with everything fixed, and beside DuckDB splitting lines that it
reads as text: see docs/decisions/csv.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from headcount.errors import UsageError
from headcount.screens import quoted
from headcount.tables.csv import NOTHING, Csv
from headcount.tables.csv_lines import check_readable, first_line, open_lines

T = TypeVar("T")
BLOCK_BYTES = 8 << 20
"""Longer than the longest line, so that no line lies in three blocks."""


def csv_columns(paths: Sequence[str], csv: Csv, pattern: str) -> tuple[str, ...]:
    """The names of the columns, which every file must have in the same order.

    No message repeats a first line: where a header is missing, it is somebody's record.
    """
    if csv.columns is not None:
        for path in paths:
            _tried(check_readable, path)
        return tuple(csv.columns)
    headers = {_header(path, csv) for path in paths} - {()}
    if not headers:
        raise UsageError(
            f"There is no line at {quoted(pattern)}, so that no column has a name. {NOTHING}"
        )
    if len(headers) > 1:
        raise UsageError(
            f"The CSV files at {quoted(pattern)} differ in their first lines. {NOTHING}"
        )
    (header,) = headers
    if header is None:
        raise UsageError(
            f"The first line of {quoted(pattern)} cannot hold the names of columns: it must be "
            f"UTF-8 with fields between {csv.delimiter!r}, all of them different. If the files "
            f"have no header, write csv=hc.Csv(header=False, columns=[...]). {NOTHING}"
        )
    return header


def _tried(read: Callable[[str], T], path: str) -> T:
    try:
        return read(path)
    except OSError:
        raise UsageError(f"{quoted(path)} cannot be read. {NOTHING}") from None


def _header(path: str, csv: Csv) -> tuple[str, ...] | None:
    """The names in a file's first line, none for an empty file, None where they cannot be."""
    line = _tried(first_line, path)
    if line == "":
        return ()
    fields = None if line is None else csv.fields(line)
    if fields is None:
        return None
    names = tuple(name or f"column_{index}" for index, name in enumerate(fields, 1))
    return names if len(set(names)) == len(names) else None


def csv_dataset(
    paths: Sequence[str],
    csv: Csv,
    columns: Sequence[str],
    folders: Sequence[Mapping[str, str | None]],
) -> Any:
    """The files as an Arrow dataset, which an engine can scan as often as it likes."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds

    text = dict.fromkeys(columns, pa.string())
    form = ds.CsvFileFormat(
        parse_options=pa.csv.ParseOptions(
            delimiter=csv.delimiter,
            quote_char=csv.quote or False,
            double_quote=True,
            escape_char=False,
            newlines_in_values=False,
            ignore_empty_lines=True,
            invalid_row_handler=_skip,
        ),
        read_options=pa.csv.ReadOptions(column_names=list(columns), block_size=BLOCK_BYTES),
        convert_options=pa.csv.ConvertOptions(
            check_utf8=False,  # the filter did
            column_types=text,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    opened = _line_files(paths, csv)
    fragments = [
        form.make_fragment(str(index), opened, _said(folder))
        for index, folder in enumerate(folders)
    ]
    schema = pa.schema({**text, **dict.fromkeys(folders[0], pa.string())})
    return ds.FileSystemDataset(fragments, schema, form, opened)


def _skip(_row: Any) -> str:
    """A line with another number of fields is dropped."""
    return "skip"


def _said(folder: Mapping[str, str | None]) -> Any:
    """What the folders of a file say, as the expression that Arrow fills their columns from."""
    import pyarrow.dataset as ds

    said = ds.scalar(True)
    for name, value in folder.items():
        field = ds.field(name)
        said = said & (field.is_null() if value is None else field == value)
    return said


def _line_files(paths: Sequence[str], csv: Csv) -> Any:
    """A file system whose files are called 0, 1, 2, ... and hold well-formed lines alone."""
    import pyarrow as pa
    from pyarrow import fs

    class LineFiles(fs.FileSystemHandler):
        def get_type_name(self) -> str:
            return "headcount-lines"

        def normalize_path(self, path: str) -> str:
            return path

        def get_file_info(self, names: list[str]) -> list[Any]:
            return [fs.FileInfo(name, fs.FileType.File) for name in names]

        def open_input_stream(self, name: str) -> Any:
            return pa.PythonFile(open_lines(paths[int(name)], csv), mode="r")

        open_input_file = open_input_stream

        def _refused(self, *_: Any) -> Any:
            raise NotImplementedError

        get_file_info_selector = create_dir = delete_dir = delete_dir_contents = _refused
        delete_root_dir_contents = delete_file = move = copy_file = _refused
        open_output_stream = open_append_stream = _refused

    return fs.PyFileSystem(LineFiles())
