"""Count events: plans for groups that are listed, and for groups that are found in the data."""
