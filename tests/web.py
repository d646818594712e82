"""Run a service in a thread, and call it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

from structsvm.integrations.starlette import LocalService


@contextlib.contextmanager
def running(service: LocalService) -> Iterator[int]:
    """Serve in a thread; the port."""
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield int(service.url.split(":")[2].split("/")[0])
    finally:
        service.stop()
        thread.join(20)
        assert not thread.is_alive()


def call(
    port: int, path: str, body: bytes | str | None = None, method: str | None = None, **headers: str
) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method or ("GET" if body is None else "POST"), path, body, headers)
        answer = connection.getresponse()
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        return answer.status, json.loads(answer.read() or b"null")


def everything(raw: socket.socket) -> bytes:
    """What the service sends until it closes the connection."""
    return b"".join(iter(lambda: raw.recv(1 << 16), b""))


def until(true: Callable[[], bool]) -> None:
    """Wait for something that another thread does."""
    for _ in range(1000):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("it does not happen")
