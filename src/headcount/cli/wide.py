"""What a shell says of a release into files: the list of them; the rows are there."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headcount.cli import piped
from headcount.errors import UsageError
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.cli.output import Output
    from headcount.results.wide import WideRelease

N_FILES = 20


def refuse_beside(output: Output) -> None:
    """Refuse to write rows that are in files already, or to draw what may not fit on a page."""
    asked = {
        "--out": output.out is not None,
        "--plot": output.plot is not None,
        "--report": output.report is not None,
        "--csv": output.piped == piped.CSV,
    }
    named = [name for name, is_asked in asked.items() if is_asked]
    if named:
        raise UsageError(
            f"{' and '.join(named)} need all rows in one place, and these are in files: read the "
            "files. Leave it out; --json has the list of them. Nothing was charged."
        )


def show_files(release: WideRelease, output: Output) -> None:
    """The files with their digests."""
    if output.piped == piped.JSON:
        facts = asdict(release.facts) | {"key": release.key, "again": release.again}
        files = [file._asdict() for file in release.files]
        print(json.dumps({"folder": str(release.folder), "files": files, "facts": facts}, indent=1))
        return
    screen = Table(box=None, pad_edge=False)
    for name in ("file", "rows", "bytes", "sha256"):
        screen.add_column(Text(name), justify="right" if name in ("rows", "bytes") else "left")
    for file in release.files[:N_FILES]:
        cells = (file.name, f"{file.rows:,}", f"{file.bytes:,}", file.sha256[:16])
        screen.add_row(*map(Text, cells))
    console = Console(file=output.aside)
    console.print()
    console.print(screen)
    left = len(release.files) - N_FILES
    more = f", {left:,} of them not shown here" if left > 0 else ""
    n_files = f"{len(release.files):,} file{'' if len(release.files) == 1 else 's'}"
    print(f"{release.rows:,} rows in {n_files} of {visible(str(release.folder))}{more}")
