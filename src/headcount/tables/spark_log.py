"""PySpark logs the cell that a query failed on, beside the error: not while our queries run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_here = local()


class _OnlyOthers(logging.Filter):
    """Lets through what threads log that run no query of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_here, "depth", 0)


_filter = _OnlyOthers()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PySpark's own Python loggers silent in this thread until the block ends."""
    for logger in _loggers():
        # Adding it again changes nothing.
        logger.addFilter(_filter)
    _here.depth = getattr(_here, "depth", 0) + 1
    try:
        yield
    finally:
        _here.depth -= 1


def _loggers() -> list[logging.Logger]:
    """The loggers of PySpark 4, made in its own way; earlier releases have none."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return []
    return [PySparkLogger.getLogger(name) for name in LOGGERS]
