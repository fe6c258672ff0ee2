"""Count users: plans with a bound, with a target, and by a sample."""
