"""A statement with its values, and the rows that it gives: what stores run and journals write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

Step = tuple[sa.sql.expression.Executable, Mapping[str, Any]]
Rows = Sequence[Any]
