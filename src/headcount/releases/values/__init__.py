"""What a numeric column holds, one value of a user: quantiles, and counts of ranges."""
