"""Where a command prints: any text arrives on any terminal, and a lost one breaks nothing.

What is printed comes after the charge, so that it must not fail for want of a letter.
"""

from __future__ import annotations

import io
import logging
import os
import sys


def take_any_text() -> None:
    """Write letters that the terminal's encoding lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say_warnings() -> None:
    """Print what the parts of headcount warn of, with what to write as a command."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_InShell())
    logging.getLogger("headcount").addHandler(handler)


class _InShell(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from headcount.cli.spelling import in_shell
        from headcount.screens import visible_lines

        return visible_lines(in_shell(super().format(record)))


def flush() -> None:
    """Hand over all that was printed, so that a failure is told here and not at the very end."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def let_go() -> None:
    """Send what could not be handed over nowhere: Python would try once more when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
