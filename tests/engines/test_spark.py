"""What only Spark can get wrong: collations, and the settings of a session that is not ours."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.errors import SchemaError
from headcount.tables import Kind, open_table

pytestmark = pytest.mark.spark


def test_text_that_folds_case_cannot_name_users(spark_cluster: Any) -> None:
    rows = spark_cluster.session.createDataFrame([("a", "x")], "who string, word string")
    frame = rows.selectExpr("who collate UTF8_LCASE as who", "word")
    with pytest.raises(SchemaError, match="treats different texts as equal"):
        open_table(frame, user="who")
    assert open_table(frame, user="word").columns["who"] is Kind.FOLDED_TEXT


def test_the_session_keeps_its_own_settings(spark_cluster: Any) -> None:
    session = spark_cluster.session
    open_table(session.createDataFrame([(1,)], "who int"), user="who")
    assert session.conf.get("spark.sql.session.timeZone") == "America/New_York"
    assert session.conf.get("spark.sql.mapKeyDedupPolicy") == "EXCEPTION"
