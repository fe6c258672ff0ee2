"""``python -m headcount``: the same as the command ``headcount``."""

from headcount.cli.main import main

main()
