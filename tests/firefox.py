"""Firefox for tests: the protocol that Debian's Firefox speaks itself, Marionette, over a socket.

Playwright drives only a Firefox of its own make. A message is its length, a colon and JSON: [0, number, command,
parameters] there, [1, number, error, result] back.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

# Seconds that Firefox may take to start, or a script to answer, on a machine that does other work as well.
PATIENCE = 120
# What a page must not do unasked: no first-run pages, no updates, no reports.
_PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "security.fileuri.strict_origin_policy": True,
}


def firefox_path() -> str | None:
    """The browser of `PREIMAGE_FIREFOX`, or the first on the path; None where there is none."""
    return os.environ.get("PREIMAGE_FIREFOX") or next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)


class Firefox:
    """One window of a headless Firefox with a new profile."""

    def __init__(self, path: str, width: int = 1280, height: int = 900) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="firefox")
        port = _free_port()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _PREFERENCES.items()]
        lines.append(f'user_pref("marionette.port", {port});')
        Path(self.folder.name, "user.js").write_text("\n".join(lines), encoding="utf-8")
        command = [path, "--headless", "--marionette", "--no-remote", "--profile", self.folder.name]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number = 0
        try:
            self.socket = self._connected(port)
            self._read()  # the greeting
            self("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": False}}})
            self("WebDriver:SetTimeouts", {"script": 1000 * PATIENCE, "pageLoad": 1000 * PATIENCE})
            self("WebDriver:SetWindowRect", {"width": width, "height": height})
        except BaseException:
            self.close()
            raise

    def __call__(self, command: str, parameters: dict[str, Any] | None = None) -> Any:
        """The result of a command of the protocol."""
        self.number += 1
        text = json.dumps([0, self.number, command, parameters or {}]).encode()
        self.socket.sendall(str(len(text)).encode() + b":" + text)
        _, _, error, result = json.loads(self._read())
        if error:
            raise RuntimeError(f"Firefox: {command}: {error['error']}: {error['message'][:500]}")
        return result.get("value", result) if isinstance(result, dict) else result

    def open(self, address: str) -> None:
        self("WebDriver:Navigate", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        """What the body of a function returns; it may wait for promises."""
        done = "arguments[arguments.length - 1]"
        body = f"const done = {done}; (async (...given) => {{ {script} }})(...arguments).then(done)"
        return self("WebDriver:ExecuteAsyncScript", {"script": body, "args": list(arguments)})

    def keys(self, *keys: str) -> None:
        """Press keys one after the other."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the mouse to a place of the window, and click."""
        actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self("WebDriver:PerformActions", {"actions": [mouse]})

    def close(self) -> None:
        if hasattr(self, "socket"):
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def _connected(self, port: int) -> socket.socket:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("Firefox does not start, or does not listen") from None
                time.sleep(0.2)

    def _read(self) -> bytes:
        length = b""
        while (letter := self._some(1)) != b":":
            length += letter
        return self._some(int(length))

    def _some(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise RuntimeError("Firefox ended the connection")
            data += part
        return data


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def firefox():
    """The browser for the tests of one module; without it they are skipped."""
    path = firefox_path()
    if path is None:
        pytest.skip("needs Firefox on the path (Debian: apt-get install firefox-esr), or its path in PREIMAGE_FIREFOX")
    browser = Firefox(path)
    yield browser
    browser.close()
