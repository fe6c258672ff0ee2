"""What people read: how a text that came from elsewhere is put before their eyes.

Two rules. A text that looks like the address of a database is never repeated, since it may hold a
password. And no text acts on a screen: whatever cannot be seen is shown as an escape.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from pathlib import Path
from urllib.parse import unquote

WITHHELD = "(a text like an address, not repeated here)"

# What connection strings call their parts; "month=05" is the name of a folder and none of these.
_PART = re.compile(
    "accesskey|apikey|auth|credentials?|database|datasource|db|dbname|driver|dsn|host|hostaddr|key|"
    "login|pass|passfile|passphrase|password|passwd|port|pwd|secret|server|service|sslcert|sslkey|"
    "sslpassword|token|uid|user|userid|username"
)
_FOLDER = re.compile(r"([A-Za-z_][\w.-]*)=([^=&;,\s]*)")
_NAMED_SECRET = re.compile(r"\b(?:pass(?:word|wd|phrase)?|pwd|secret|token)\s", re.IGNORECASE)
_LOGIN = re.compile(
    r"\w:/*[^/\s]*@|\b(?:pass(?:word|wd|phrase)?|pwd|secret|token)\s*=", re.IGNORECASE
)
_ROUNDS = 5


def is_address_like(text: str | Path) -> bool:
    """Whether a text could be an address with a login in it, however it is misspelt.

    Doubtful ones are. Plain are paths and patterns without an ``@``, with colons between digits
    alone, and with ``=`` only in the names of folders and files like ``month=05``.
    """
    plain = _decoded(str(text))
    if "@" in plain or re.search(r"(?<!\d):|:(?!\d)", plain) or _NAMED_SECRET.search(plain):
        return True
    return any("=" in part and not _is_folder(part) for part in re.split(r"[/\\]", plain))


def holds_login(text: str) -> bool:
    """Whether a text holds a user name before a host, or something called a password."""
    return _LOGIN.search(_decoded(text)) is not None


def quoted(text: str | Path) -> str:
    """A source, a ledger or a path as a message may repeat it."""
    return WITHHELD if is_address_like(text) else repr(str(text))


def as_word(text: str) -> str:
    """A name as a shell takes it, where people are told what to write there."""
    return WITHHELD if is_address_like(text) else shlex.quote(text)


def without_addresses(message: str, given: list[str]) -> str:
    """A message of others about what was given, with whatever looks like an address taken out."""
    for text in sorted(given, key=len, reverse=True):
        for part in (text, text.partition("=")[2]):
            if part and is_address_like(part):
                message = message.replace(part, WITHHELD).replace(repr(part)[1:-1], WITHHELD)
    return message


def visible(text: str) -> str:
    r"""A text in which nothing acts on a screen: an escape character is shown as ``\x1b``.

    Control characters, line ends, marks that turn the direction of writing, and whatever else
    Unicode does not print.
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def visible_lines(text: str) -> str:
    """The same for a text of several lines, made by us."""
    return "\n".join(map(visible, text.split("\n")))


def _shown(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _decoded(text: str) -> str:
    """Without percent-encodings, also double ones, and without look-alikes of plain marks."""
    for _ in range(_ROUNDS):
        before, text = text, unquote(text)
        if text == before:
            break
    return unicodedata.normalize("NFKC", text)


def _is_folder(part: str) -> bool:
    named = _FOLDER.fullmatch(part)
    return named is not None and not _PART.fullmatch(named[1].lower().replace("_", ""))
