"""Group by group, the binomial that fits users: the mechanism, its tournament, its proof."""
