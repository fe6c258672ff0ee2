"""What a stream promises and what it does not, in words for the person who decides."""

from __future__ import annotations

from headcount.privacy.neighbours import Neighbours
from headcount.streams.terms import Terms

EVENT = {
    Neighbours.ADD_REMOVE: "adding or removing one event",
    Neighbours.REPLACE: "replacing one event by another; how many there are is public",
}


def guarantee(terms: Terms) -> str:
    """The promise, in one sentence."""
    return f"epsilon {float(terms.epsilon):.4g} for one event, under {EVENT[terms.neighbours]}"


def summary(terms: Terms) -> str:
    """The stream, in one line."""
    what = "buckets" if terms.groups is None else "groups"
    return (
        f"of {terms.n_counters:,} {what}, {guarantee(terms)}, "
        f"{terms.n_noises} {'draw' if terms.n_noises == 1 else 'draws'} of noise"
        f"{', finished' if terms.is_finished else ''}"
    )


def text(terms: Terms) -> str:
    """All of it."""
    epsilon = f"{float(terms.epsilon):.4g}"
    lines = [
        f"A stream {summary(terms)}.",
        _of_noise(terms),
        "",
        "Promised",
        f"- Memory and disk seen once, at any moment, unannounced: epsilon {epsilon} for each "
        "event.",
        _of_output(terms, epsilon),
        "- Every file that was ever written is covered as well, all of them together: copies made "
        "by snapshot, backups of the state, older versions of it. Counting goes on over fresh "
        "noise after each, and after reseal.",
        "- Merged streams keep the promise of each; their noise adds up.",
        "- Whether events came is told by the counters alone, never by the number of draws, by "
        "the length or by the times of a file.",
        "",
        "Not promised",
        f"- A person is not an event: with c events their epsilon is c times {epsilon}.",
        "- The memory of a process seen at two moments without fresh noise in between, or the "
        "memory and then the next file that is written from it: what was counted from one to the "
        "other is exposed exactly.",
        "- Numbers while counting goes on. There is one output, at the end.",
        "- Events on their way in: pipes, logs, input buffers, swap, core dumps; and how busy a "
        "process was.",
    ]
    return "\n".join(lines)


def _of_noise(terms: Terms) -> str:
    if terms.n_noises == 0:
        return (
            "Nobody has counted in it: noise is drawn before the first event, when somebody does."
        )
    return (
        f"Noise on every counter: standard deviation {terms.mechanism.sd(terms.n_noises):.3g} now."
    )


def _of_output(terms: Terms, epsilon: str) -> str:
    if terms.is_finished and not terms.has_fresh_output:
        return (
            f"- The output alone: epsilon {epsilon} for each event. It was taken without fresh "
            "noise: with memory that somebody saw, it exposes what was counted after."
        )
    return f"- All that and the output together: still epsilon {epsilon} for each event."
