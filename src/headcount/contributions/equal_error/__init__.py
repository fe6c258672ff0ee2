"""What the equal-error release asks about groups that are public by now, and the proof of it."""
