"""What the servers of a fleet refuse, in texts that were written before anybody asked.

::

    FleetError
    └── RefusedError           what is wrong with a request, and what to do
        ├── NotHereError        404
        ├── WrongMethodError    405
        ├── TooSlowError        408  the rest of a body did not come in time
        ├── OverError           409  the round is over; it is not tried again
        ├── TooLongError        413
        ├── WrongMediaError     415
        ├── UnknownSenderError  401
        ├── EnoughError         429  a device sent its share of the round already
        └── BusyError           503  nothing is acknowledged; doing it again is safe

Nothing of a request, of a database or of another error is ever in them.
"""

from __future__ import annotations

import json
from typing import ClassVar

from headcount.errors import FleetError, HeadcountError, UsageError

MEDIA = "application/problem+json"


class RefusedError(FleetError):
    """A request that is answered by a fixed text."""

    name: ClassVar[str] = "failed"
    detail: ClassVar[str] = "The server could not do this. Try again later."
    closes: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__(self.detail)


class NotHereError(RefusedError):
    """Nothing is at this path."""

    http_status, name = 404, "not-here"
    detail = "There is /rounds, /rounds/{hash of the descriptor}/reports, /healthz and /readyz."


class WrongMethodError(RefusedError):
    """Something is at this path, for another method."""

    http_status, name = 405, "wrong-method"
    detail = "Rounds are asked for by GET, and reports are sent by POST or PUT."


class TooSlowError(RefusedError):
    """A body did not come in time."""

    http_status, name, closes = 408, "too-slow", True
    detail = "The rest of the reports did not come in time. Nothing was taken: send them again."


class OverError(RefusedError):
    """The round takes no reports any more, or never did."""

    http_status, name = 409, "round-over"
    detail = "The round is over, or is none of this fleet. Nothing was taken."


class TooLongError(RefusedError):
    """A body has more bytes than are taken at a time."""

    http_status, name, closes = 413, "too-long", True
    detail = "A device sends one report at a time, and a relay at most 4 MiB. Nothing was taken."


class WrongMediaError(RefusedError):
    """A body that does not say that it is reports."""

    http_status, name = 415, "wrong-media"
    detail = (
        "Reports are sent as application/vnd.headcount, not encoded further. Nothing was taken."
    )


class UnknownSenderError(RefusedError):
    """Nobody who may ask."""

    http_status, name = 401, "unknown-sender"
    detail = (
        "Whoever asks says who they are: Authorization: Bearer, and a token that is known here."
    )


class EnoughError(RefusedError):
    """A device sent as many reports of a round as its task asks for."""

    http_status, name = 429, "enough"
    detail = "Other reports of this device were sent for the round before. Nothing was taken."


class BusyError(RefusedError):
    """What must be asked for this does not answer."""

    http_status, name = 503, "busy"
    detail = "Whether these reports were kept is unknown: send them again, they count once."


MALFORMED = "malformed", "A post is reports of one length, end to end. Nothing was taken."


def problem(error: Exception) -> tuple[int, bytes]:
    """The status of an error, and what is said of it (RFC 9457)."""
    status = error.http_status if isinstance(error, HeadcountError) else 500
    if isinstance(error, RefusedError):
        name, detail = error.name, error.detail
    elif isinstance(error, UsageError):
        name, detail = MALFORMED
    else:
        name, detail = RefusedError.name, RefusedError.detail
    said = {"type": f"/problems/{name}", "title": name, "status": status, "detail": detail}
    return status, json.dumps(said).encode()
