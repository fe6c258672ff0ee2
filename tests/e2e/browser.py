"""A real browser without a screen: Chromium, spoken to through a pipe, as developer tools do."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
needs_browser = pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium: just setup-system")
PATIENCE = 120.0
STAYS = ("file:", "data:", "blob:")
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
ROOMS = ((1200, False), (1200, True), (390, False), (390, True))
"""How wide a page is, and whether it is dark around: a desk and a phone, by day and by night."""


class Browser:
    """One Chromium; ``open`` gives a page in it."""

    def __init__(self, folder: Path) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-dev-shm-usage",
        ]
        # It finds the pipe at its descriptors 3 and 4.
        shell = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        folder.mkdir(exist_ok=True)
        self._process = subprocess.Popen(
            ["bash", "-c", shell, CHROMIUM, *arguments, f"--user-data-dir={folder}",
             "--disable-background-networking", "--remote-debugging-pipe"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._rest = 0, b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method: str, session: str | None = None, **given: Any) -> dict[str, Any]:
        """Ask the browser for something, and wait for its answer."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": given}
        message = asked if session is None else asked | {"sessionId": session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said["error"]
                answer: dict[str, Any] = said["result"]
                return answer
            self.events.append(said)
        raise TimeoutError(method)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 16)
            assert more, "the browser is gone"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said

    def open(self, place: Path | str, *, width: int = 1200, dark: bool = False) -> Page:
        """A page from a file or an address, as wide as this, in a light or a dark room."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=place.as_uri() if isinstance(place, Path) else place)
        ends = time.monotonic() + PATIENCE
        while page.value("document.readyState") != "complete" and time.monotonic() < ends:
            time.sleep(0.05)
        return page


class Page:
    """A page in a browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Ask about this page."""
        return self._browser.call(method, self._session, **given)

    def value(self, script: str) -> Any:
        """What a script has for its value there."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until a script has a true value."""
        ends = time.monotonic() + PATIENCE
        while not self.value(script):
            assert time.monotonic() < ends, script
            time.sleep(0.05)

    def picture(self, path: Path) -> Path:
        """Save what is seen of it."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def complaints(self, *own: str) -> list[str]:
        """What its console was told, and every request that did not stay on the page.

        own: how addresses begin that belong to it
        """
        mine = [e for e in self._browser.events if e.get("sessionId") == self._session]
        told = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        said = [json.dumps(event["params"]) for event in mine if event["method"] in told]
        asked = [
            event["params"]["request"]["url"]
            for event in mine
            if event["method"] == "Network.requestWillBeSent"
        ]
        return said + [url for url in asked if not url.startswith((*STAYS, *own))]
