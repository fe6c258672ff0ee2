"""Which characters an answer may have: one set, written as ``[a-z0-9._-]+``.

Not a regular expression. Those mean different things in different languages, and some take longer
for one answer than for all others, which would tell it.
"""

from __future__ import annotations

from functools import lru_cache

from headcount.errors import UsageError


@lru_cache(maxsize=64)
def characters_of(pattern: str) -> frozenset[str] | None:
    """The characters that a pattern allows; all of them where it is empty."""
    if not pattern:
        return None
    if len(pattern) < 4 or not (pattern.startswith("[") and pattern.endswith("]+")):
        raise _refused(pattern)
    inside = pattern[1:-2]
    if set(inside) & set("[]\\^"):
        raise _refused(pattern)
    found: set[str] = set()
    at = 0
    while at < len(inside):
        first, rest = inside[at], inside[at + 1 : at + 3]
        if len(rest) == 2 and rest[0] == "-":
            last = rest[1]
            if not (first.isascii() and last.isascii() and first.isalnum() and last.isalnum()):
                raise _refused(pattern)
            if first > last:
                raise _refused(pattern)
            found.update(map(chr, range(ord(first), ord(last) + 1)))
            at += 3
        else:
            found.add(first)
            at += 1
    return frozenset(found)


def _refused(pattern: str) -> UsageError:
    return UsageError(
        f"pattern must be one set of characters such as [a-z0-9._-]+, not {pattern!r}; - stands "
        "last. Nothing was charged."
    )


def is_allowed(text: str, pattern: str, max_bytes: int) -> bool:
    """Whether an answer is one that the task takes."""
    allowed = characters_of(pattern)
    try:
        n = len(text.encode())
    except UnicodeEncodeError:
        return False
    if not 0 < n <= max_bytes:
        return False
    return text.isprintable() if allowed is None else allowed.issuperset(text)
