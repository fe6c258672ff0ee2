"""All trials, by mechanism. A module is imported when its trial is held."""

from __future__ import annotations

from importlib import import_module

from headcount.trials.trial import Trial

MECHANISMS = (
    "reading",
    "door",
    "repeats",
    "windows",
    "discrete_laplace",
    "discrete_gaussian",
    "selection",
    "gaussian",
    "centred_gaussian",
    "laplace",
    "gaussian_threshold",
    "laplace_threshold",
    "bound_choice",
    "private_count_release",
    "sample_threshold",
    "size_choice",
    "equal_error",
    "hierarchical_histogram",
    "exponential_quantile",
    "fresh_samples",
    "coins",
    "clip_choice",
    "pan_private",
    "sorted_counts",
    "laplace_histogram",
    "radius",
    "binomial_selection",
    "bucket_chance",
    "decided",
    "verbs",
    "count_users",
    "count_events",
    "count_events_found",
    "distribution",
    "quantiles",
    "fleet",
    "fleet_noise",
)


def trial_of(mechanism: str) -> Trial:
    """The trial of one mechanism: the module of its name holds it."""
    trial: Trial = import_module(f"headcount.trials.{mechanism}").TRIAL
    return trial


def trials() -> list[Trial]:
    """Every trial there is."""
    return [trial_of(mechanism) for mechanism in MECHANISMS]
