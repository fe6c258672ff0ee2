"""What one release makes in a Spark session: public tables it brings, and rows that are kept.

Kept rows are cut off from how they were made, so that no later statement carries, analyses or
compares the history of every earlier one. That takes a checkpoint. In the executors' own memory it
costs nothing more, and goes with an executor that is lost: then whatever was kept is made again,
oldest first, and the statement that failed is asked once more. Statements before noise give the
same integers of the same rows, and nothing of a failed one was handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from headcount.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
"""What Spark calls rows that went with their executor. It decides about work, not about answers."""
MOST_BROADCAST = 32 << 20
STAYS = ("LogicalRDD", "LocalRelation", "Range", "OneRowRelation")
"""Leaves of a plan that are the same rows however often they are read."""


@dataclass(frozen=True, slots=True)
class _Kept:
    query: str
    rows: Any


class SparkTables:
    """The temporary views of one release, all of which go with it."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self._shown: set[str] = set()
        self._kept: dict[str, _Kept] = {}

    def show(self, name: str, table: pa.Table) -> None:
        """Bring a public table, once: one partition, and joined where the other rows are.

        Spark does not know how small it is, and would send the other rows to it.
        """
        if name in self._shown:
            return
        from pyspark.sql.functions import broadcast

        rows = self.spark.createDataFrame(table, schema=_spark_schema(table.schema)).coalesce(1)
        if table.nbytes <= MOST_BROADCAST:
            rows = broadcast(rows)
        rows.createOrReplaceTempView(name)
        self._shown.add(name)

    def keep(self, name: str, query: str) -> None:
        """Run a query into a view of this name."""
        self.run(lambda: self._make(name, query))

    def _make(self, name: str, query: str) -> None:
        rows = _checkpoint(self.spark.sql(query))
        rows.createOrReplaceTempView(name)
        self._kept[name] = _Kept(query, rows)

    def run(self, ask: Callable[[], T]) -> T:
        """Ask the session something, and once more where kept rows were lost meanwhile."""
        try:
            return ask()
        except Exception as error:
            if not self._kept or LOST not in str(error):
                raise
        # Outside the handler: what stops the rest is not linked to an error that quotes rows.
        self._make_again()
        return ask()

    def _make_again(self) -> None:
        """All that was kept, oldest first: later tables read earlier ones."""
        kept = tuple(self._kept.items())
        # Two answers of one release are of the same rows, or there is no second one.
        if not all(_reads_the_same(self.spark, one.query) for _, one in kept):
            raise EngineError
        for name, one in kept:
            self._make(name, one.query)
            _forget(self.spark, one.rows)

    def drop(self, name: str) -> None:
        """Remove one view and its rows."""
        self.spark.catalog.dropTempView(name)
        kept = self._kept.pop(name, None)
        if kept is not None:
            _forget(self.spark, kept.rows)
        self._shown.discard(name)

    def end(self) -> None:
        """Remove all of them."""
        for name in (*reversed(self._kept), *self._shown):
            with suppress(Exception):
                self.drop(name)


def _checkpoint(rows: Any) -> Any:
    """The rows, computed once: in the folder that the session has for it, or by its executors."""
    folder = None
    with suppress(Exception):
        folder = rows.sparkSession.sparkContext.getCheckpointDir()
    return rows.localCheckpoint(eager=True) if folder is None else rows.checkpoint(eager=True)


def _forget(spark: Any, rows: Any) -> None:
    """Free what a checkpoint holds; what stands in a folder has rows of people, and is removed."""
    with suppress(Exception):
        held = rows._jdf.queryExecution().analyzed().rdd()
        held.unpersist(False)
        place = held.getCheckpointFile()
        if place.isDefined():
            path = spark._jvm.org.apache.hadoop.fs.Path(place.get())
            path.getFileSystem(_files_of(spark)).delete(path, True)


def _files_of(spark: Any) -> Any:
    return spark._jsparkSession.sessionState().newHadoopConf()


def _reads_the_same(spark: Any, query: str) -> bool:
    """Whether the rows that a query reads are those that it read before, as far as files say."""
    try:
        settings = _files_of(spark)
        leaves = spark.sql(query)._jdf.queryExecution().analyzed().collectLeaves()
        for leaf in _each(leaves):
            if leaf.nodeName() in STAYS:
                continue
            for before in _each(leaf.relation().location().allFiles()):
                path = before.getPath()
                now = path.getFileSystem(settings).getFileStatus(path)
                if _state(now) != _state(before):
                    return False
    except Exception:
        return False
    return True


def _state(file: Any) -> tuple[int, int]:
    return file.getLen(), file.getModificationTime()


def _each(values: Any) -> Iterator[Any]:
    """The values of a sequence of Scala."""
    return (values.apply(i) for i in range(values.size()))


def _spark_schema(schema: pa.Schema) -> Any:
    import pyarrow as pa
    from pyspark.sql import types

    kinds = {
        pa.int64(): types.LongType(),
        pa.string(): types.StringType(),
        pa.bool_(): types.BooleanType(),
        pa.date32(): types.DateType(),
        pa.timestamp("us"): types.TimestampNTZType(),
    }
    return types.StructType([types.StructField(field.name, kinds[field.type]) for field in schema])
