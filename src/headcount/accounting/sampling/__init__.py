"""The exact law of a thresholded sample, and what one or many of them certainly cost."""
