"""All trials, by mechanism. A module is imported when its trial is held."""

from __future__ import annotations

from importlib import import_module

from headcount.trials.trial import Trial

MECHANISMS = (
    "discrete_laplace",
    "discrete_gaussian",
    "selection",
    "gaussian",
    "gaussian_threshold",
    "private_count_release",
    "equal_error_size",
    "equal_error",
    "radius",
    "binomial_selection",
    "distribution",
    "count_users",
)


def trial_of(mechanism: str) -> Trial:
    """The trial of one mechanism: the module of its name holds it."""
    trial: Trial = import_module(f"headcount.trials.{mechanism}").TRIAL
    return trial


def trials() -> list[Trial]:
    """Every trial there is."""
    return [trial_of(mechanism) for mechanism in MECHANISMS]
