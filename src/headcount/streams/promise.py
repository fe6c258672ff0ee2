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


def text(terms: Terms, *, copied: bool) -> str:
    """All of it."""
    mechanism = terms.mechanism
    epsilon = f"{float(terms.epsilon):.4g}"
    lines = [
        f"A stream {summary(terms)}.",
        f"Noise on every counter: standard deviation {mechanism.sd(terms.n_noises):.3g} now.",
        "",
        "Promised",
        f"- The state seen once, at any moment, unannounced: epsilon {epsilon} for each event.",
        _of_output(terms, epsilon),
        "- Copies made by snapshot, and intrusions followed by reseal, are covered as well: each "
        "adds one draw of noise.",
        "- Merged streams keep the promise of each; their noise adds up.",
        "",
        "Not promised",
        f"- A person is not an event: with c events their epsilon is c times {epsilon}.",
        "- The state seen at two moments without fresh noise in between: what was counted from "
        "one to the other is exposed exactly. A backup of the file that you make yourself is "
        "such a look; use snapshot.",
        "- Numbers while counting goes on. There is one output, at the end.",
        "- Events on their way in: pipes, logs, input buffers, swap, core dumps, and old blocks "
        "of the disk under the file.",
    ]
    if copied:
        lines += ["", "A copy of this state has left. The next event adds one draw of noise."]
    return "\n".join(lines)


def _of_output(terms: Terms, epsilon: str) -> str:
    if terms.is_finished and not terms.has_fresh_output:
        return (
            f"- The output alone: epsilon {epsilon} for each event. It was taken without fresh "
            "noise: with a state that somebody saw, it exposes what was counted after."
        )
    return f"- That state and the output together: still epsilon {epsilon} for each event."
