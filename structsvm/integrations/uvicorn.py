"""Run an ASGI application with uvicorn, on a socket that is bound at once, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import threading
from collections.abc import Iterator

import uvicorn
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["BoundedHead", "Config", "Server", "bind"]

HEAD_BYTES = 1 << 16


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or ValueError with one sentence."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            what = f"port {port} is in use; stop the program that uses it, or choose another --port"
        else:
            what = f"cannot listen on {host}, port {port}: {error.strerror or error}"
        raise ValueError(what) from None
    except (OverflowError, UnicodeError):
        raise ValueError(f"cannot listen on {host}, port {port}: no such address") from None


class Server(uvicorn.Server):
    """Ends without an error after Ctrl-C and SIGTERM, and keeps the exception of a failed start."""

    failed: Exception | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def noting_failure(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failed = error
            raise

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:  # the reason is in `failed`
            self.should_exit = True


class BoundedHead(HttpToolsProtocol):
    """Close connections whose request line and headers are too long: the parser has no limit.

    And send small packets at once: asyncio does not do that on a socket it was given, and the second part of
    an answer would wait 40 ms for the first to be acknowledged.
    """

    _head: int | None = None  # bytes so far, None outside of a head

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0

    def on_headers_complete(self) -> None:
        self._head = None
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is not None:
            self._head += len(data)
            if self._head > HEAD_BYTES:
                self.send_400_response("The request line and headers are too long.")
