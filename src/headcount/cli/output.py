"""Where a command writes: checked before anything is charged, and written whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from headcount.cli.piped import kind_of
from headcount.errors import OutputError, UsageError
from headcount.results.output import PAGES, PICTURES, ROWS, check_output, write_whole

if TYPE_CHECKING:
    from headcount.results.release import Release

PICTURE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Output:
    """The files that were asked for: rows, a picture, a page, or none."""

    out: Path | None
    plot: Path | None
    report: Path | None = None
    piped: str | None = None
    """How the rows are written to standard output, where other programs read them."""
    quiet: bool = False

    @classmethod
    def asked(
        cls,
        out: Path | None,
        plot: Path | None,
        report: Path | None,
        *,
        as_json: bool = False,
        as_csv: bool = False,
        quiet: bool = False,
    ) -> Output:
        """What the options of a command ask for."""
        piped = kind_of(out, as_json=as_json, as_csv=as_csv)
        return cls(None if str(out) == "-" else out, plot, report, piped, quiet)

    @property
    def aside(self) -> TextIO:
        """Where all goes that is not a row."""
        return sys.stdout if self.piped is None else sys.stderr

    def check(self, avoid: Iterable[str | Path], n_bytes: int = 0) -> None:
        """Refuse a place that cannot be written, or that holds what the command needs."""
        keep = list(avoid)
        if self.out is not None:
            check_output(self.out, ROWS, name="--out", avoid=keep, n_bytes=n_bytes)
        if self.plot is not None:
            check_output(
                self.plot, PICTURES, name="--plot", avoid=keep, n_bytes=n_bytes + PICTURE_BYTES
            )
        if self.report is not None:
            check_output(
                self.report, PAGES, name="--report", avoid=keep, n_bytes=n_bytes + PICTURE_BYTES
            )
        asked = {"--out": self.out, "--plot": self.plot, "--report": self.report}
        places = [(name, path) for name, path in asked.items() if path is not None]
        for (first, path), (second, other) in combinations(places, 2):
            if path.resolve() == other.resolve():
                raise UsageError(
                    f"{first} and {second} are one file. Choose two names. Nothing was charged."
                )

    def write(self, release: Release, again: str) -> list[str]:
        """Write what was asked for, and say so; ``again``: how to have the same rows for free."""
        wrote = []
        try:
            if self.out is not None:
                wrote.append(f"Wrote {release.write(self.out)}")
            if self.plot is not None:
                wrote.append(f"Drew {release.plot(self.plot)}")
            if self.report is not None:
                wrote.append(f"Wrote {release.report(self.report)}")
        except (OutputError, UsageError) as error:
            # The place was good before the charge: what went wrong since is not the request.
            text = str(error).removesuffix(" Nothing was charged.")
            raise OutputError(f"{text} {again}") from None
        return wrote


def write_text(path: Path | None, endings: tuple[str, ...], text: Callable[[], str]) -> None:
    """Write a text to a file that was checked before it was made, or to the screen."""
    if path is None:
        print(text(), end="")
        return
    check_output(path, endings, name="--out")
    written = text()

    def write(draft: Path) -> None:
        draft.write_text(written, encoding="utf-8")

    print(f"Wrote {write_whole(path, write)}")


def files_of(source: str, ledger: str | Path | None) -> list[Path]:
    """The files that a command reads or keeps, and must not write over."""
    from headcount.tables.files import files_at

    return [*files_at(source), *files_of_ledger(ledger)]


def files_of_ledger(ledger: str | Path | None) -> list[Path]:
    """The files that a ledger is kept in."""
    from headcount.ledger.address import parse_address
    from headcount.releases.accounts import default_ledger

    place = parse_address(default_ledger(ledger))
    return [] if place.is_postgres else [Path(f"{place.path}{end}") for end in ("", "-wal", "-shm")]
