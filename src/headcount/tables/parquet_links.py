"""Names for Parquet files that DuckDB reads as they are, with what their folders say as numbers.

DuckDB takes marks in a path for a pattern, and columns from the names of folders. So it is given
links, whose own names hold numbers alone; which text a number stands for is said in the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headcount.errors import UsageError
from headcount.tables.csv import NOTHING
from headcount.tables.scratch import MARKS


@dataclass(frozen=True, slots=True)
class FolderKeys:
    """Short names for the columns of folders, and the number of each of their texts.

    prefix:  what no column's name begins with
    """

    prefix: str
    keys: Mapping[str, str]
    numbers: Mapping[str, Mapping[str | None, int]]

    def parts(self, said: Mapping[str, str | None]) -> list[str]:
        """The names of a link's folders."""
        return [f"{self.keys[name]}={self.numbers[name][text]}" for name, text in said.items()]

    def shown(self, name: str) -> str:
        """A folder's column in a query."""
        texts = ", ".join("null" if t is None else quoted_text(t) for t in self.numbers[name])
        return f"([{texts}]::varchar[])[{identifier(self.keys[name])}::bigint]"


def folder_keys(folders: Sequence[Mapping[str, str | None]], columns: Sequence[str]) -> FolderKeys:
    """Keys that are no names of columns."""
    prefix = "hc"
    while any(name.casefold().startswith(prefix) for name in (*columns, *folders[0])):
        prefix += "_"
    keys = {name: f"{prefix}{index}" for index, name in enumerate(folders[0])}
    texts = {name: dict.fromkeys(said[name] for said in folders) for name in keys}
    numbers = {name: {t: n for n, t in enumerate(found, 1)} for name, found in texts.items()}
    return FolderKeys(prefix, keys, numbers)


def linked(
    paths: Sequence[str],
    folders: Sequence[Mapping[str, str | None]],
    keys: FolderKeys,
    place: Path,
) -> list[str]:
    """The files themselves where their names are plain, and links to the others."""
    return [
        link_to(path, place / str(index), keys.parts(said))
        if said or any(mark in path for mark in MARKS)
        else path
        for index, (path, said) in enumerate(zip(paths, folders, strict=True))
    ]


def link_to(path: str, place: Path, parts: Sequence[str]) -> str:
    """A link to a file, in folders of these names."""
    link = place.joinpath(*parts, "rows.parquet")
    try:
        link.parent.mkdir(parents=True)
        link.symlink_to(path)
    except OSError:
        raise UsageError(
            "The private folder for temporary files cannot hold links to the files. Set "
            f"HEADCOUNT_TMP to a folder with a shorter name, on a disk with room. {NOTHING}"
        ) from None
    return str(link)


def files_query(links: Sequence[str], keys: FolderKeys) -> str:
    """The files as they are."""
    spelled = [identifier(key) for key in keys.keys.values()]
    shown = "".join(f", {keys.shown(name)} as {identifier(name)}" for name in keys.keys)
    without = f" exclude ({', '.join(spelled)})" if spelled else ""
    return f"select *{without}{shown} from {read_files(links, hive=bool(spelled))}"  # noqa: S608


def read_files(links: Sequence[str], *, hive: bool, numbered: bool = False) -> str:
    """Files in a query, with columns from the links' folders, and with the numbers of rows."""
    names = ", ".join(quoted_text(link) for link in links)
    numbers = ", file_row_number=true" if numbered else ""
    return (
        f"read_parquet([{names}], hive_partitioning={hive}, hive_types_autocast=false, "
        f"union_by_name=false{numbers})"
    )


def identifier(name: str) -> str:
    """A column's name in a query."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text in a query, which itself cannot hold NUL."""
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else f"({' || chr(0) || '.join(parts)})"
