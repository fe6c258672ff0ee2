"""Mechanisms: numbers in, noisy numbers out. One module or room each, with its proof beside it."""
