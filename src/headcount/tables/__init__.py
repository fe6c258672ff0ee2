"""Open: from a file, a frame or a database to a table whose rows belong to users.

The first step of every release. Importing this package loads no engine; opening a table does.
"""

from headcount.tables.by import Bins, GroupBy, Truncate, bins, parse_group, truncate
from headcount.tables.kinds import Kind
from headcount.tables.user_table import UserTable, open_table

__all__ = [
    "Bins",
    "GroupBy",
    "Kind",
    "Truncate",
    "UserTable",
    "bins",
    "open_table",
    "parse_group",
    "truncate",
]
