"""What a release is: rows with their error bars, facts, files and pictures; all of it public."""

from headcount.results import frequencies as frequencies  # its class enters itself
