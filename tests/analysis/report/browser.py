"""A headless Chromium that is spoken to over a pipe, by its DevTools protocol."""

import base64
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--remote-debugging-pipe", "--hide-scrollbars"),
)


class Browser:
    """One tab, and everything it complained of."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._number = 0
        self._session: str | None = None
        self._rest = b""
        self._events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._requests, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def open(self, page: Path) -> None:
        before = self._heard("Page.loadEventFired")
        answer = self.call("Page.navigate", url=page.as_uri())
        assert "errorText" not in answer, answer["errorText"]
        while self._heard("Page.loadEventFired") == before:
            self._events.append(self._next())

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def resize(self, width: int, height: int = 800) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, scheme: str, media: str = "") -> None:
        """The user's choice of `light` or `dark`; `media` to see the page as `print` on screen."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self) -> bytes:
        return base64.b64decode(
            self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"]
        )

    def printed(self) -> bytes:
        """As a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def close(self) -> None:
        """Have it end by itself, so that it leaves nothing half written."""
        self._session = None
        self.call("Browser.close")

    @property
    def complaints(self) -> list[Any]:
        """What the console would show: errors, warnings, refusals, exceptions."""
        said = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [event["params"] for event in self._events if event.get("method") in said]

    @property
    def requested(self) -> list[str]:
        return [
            event["params"]["request"]["url"]
            for event in self._events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def _heard(self, method: str) -> int:
        return sum(event.get("method") == method for event in self._events)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        message, self._rest = self._rest.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Chromium reads requests from descriptor 3 and writes answers to descriptor 4."""
    assert PROGRAM is not None
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    command = shlex.join([PROGRAM, *FLAGS, f"--user-data-dir={profile}"])
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command} 3<&{their_input} 4>&{their_output}"],
        pass_fds=(their_input, their_output),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_input)
    os.close(their_output)
    try:
        tab = Browser(our_output, our_input)
        yield tab
        tab.close()
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
        os.close(our_output)
        os.close(our_input)
