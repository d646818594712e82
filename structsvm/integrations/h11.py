"""Serve an ASGI application over HTTP/1.1, with a budget for every connection.

h11 parses, and asyncio reads and writes. The parser holds one request at a time: the next one of a pipeline
stays in the buffer of the socket until the answer is written, so a client cannot fill the memory.

* At most `CONNECTIONS` connections are open. A new one closes another that waits for a request.
* The bytes of a request outside its body (request line, headers, chunk sizes and extensions, trailers) have
  a budget, which grows with the body.
* The head of a request must arrive in time, counted from the opening of the connection or the last answer,
  and the client must read its answer in time.
* An answer to a request whose body is unread closes the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from email.utils import formatdate
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import h11

from structsvm.files.errors import DataError

__all__ = ["Refusals", "Refused", "Server", "bind"]

log = logging.getLogger("structsvm.serve")
Message = MutableMapping[str, Any]

CONNECTIONS = 512
SPARE_FILES = 128  # of the limit of the process, for everything but connections
BUDGET = 1 << 16  # bytes that a request may have outside its body, besides as many as in it
PIECE = 1 << 13  # bytes parsed before other connections get a turn
WRITTEN = 1 << 16  # bytes of an answer that the client must read in time
WAIT_SECONDS = 30.0
LINGER_SECONDS = 2.0
STOP_SECONDS = 5.0
LOG_SECONDS = 60.0
REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}
ABSOLUTE = re.compile(rb"\w+://[^/?]*")
TWO_LENGTHS = {b"content-length", b"transfer-encoding"}


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or ValueError with one sentence."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=CONNECTIONS)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            what = f"port {port} is in use; stop the program that uses it, or choose another --port"
        else:
            what = f"cannot listen on {host}, port {port}: {error.strerror or error}"
        raise ValueError(what) from None
    except (OverflowError, UnicodeError):
        raise ValueError(f"cannot listen on {host}, port {port}: no such address") from None


class Refused(DataError):
    """A request that the service answers with an HTTP error and one sentence."""

    def __init__(self, what: str, status: int = 400) -> None:
        super().__init__(what)
        self.status = status


class Refusals:
    """Counts what was refused, and logs the counts in at most one line per minute."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._next = 0.0

    def note(self, what: str, why: str) -> None:
        """Count one; log all that were counted since the last line if that was a minute ago."""
        self._counts[what, why] += 1
        if time.monotonic() >= self._next:
            self.write()

    def write(self) -> None:
        """Log what has been counted since the last line."""
        if self._counts:
            counts = [f"{n} {what}{'s' * (n > 1)}{why}" for (what, why), n in self._counts.items()]
            log.warning("refused: %s", "; ".join(counts))
            self._counts.clear()
            self._next = time.monotonic() + LOG_SECONDS


class Server:
    """Runs an ASGI application on a listening socket; `headers` are added to every answer."""

    def __init__(
        self, app: Any, listener: socket.socket, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        self.app, self.headers = app, headers
        self.address = listener.getsockname()[:2]
        self.refusals = Refusals()
        self.stopping = False
        self.waiting: dict[Connection, None] = {}  # may be closed to make room, the first one first
        self._listener = listener
        self._open: set[asyncio.Task[None]] = set()
        self._starting: set[Any] = set()  # they do not wait yet, and are not known
        self._closing: set[asyncio.Task[None]] = set()  # they have no place any more
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, lifespan: AbstractAsyncContextManager[Any]) -> None:
        """Serve inside of `lifespan` until Ctrl-C, SIGTERM or `stop`; answer the requests under way first."""
        asyncio.run(self._run(lifespan))

    def stop(self) -> None:
        """End `run`, from any thread."""
        self.stopping = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._ended.set)

    async def _run(self, lifespan: AbstractAsyncContextManager[Any]) -> None:
        self._ended, self._changed = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        with _signals(self.stop):
            async with lifespan:
                if self.stopping:
                    return
                accepting = asyncio.create_task(self._accept())
                ended = asyncio.create_task(self._ended.wait())
                await asyncio.wait({accepting, ended}, return_when=asyncio.FIRST_COMPLETED)
                accepting.cancel()
                await self._close()
                if not ended.done():
                    accepting.result()

    async def _close(self) -> None:
        """Close the connections that wait, and the others after their answers."""
        self._listener.close()
        for connection in self.waiting:
            connection.abort()
        if self._open or self._closing:
            _, late = await asyncio.wait(self._open | self._closing, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self.refusals.write()

    async def _accept(self) -> None:
        loop, most = asyncio.get_running_loop(), _most_connections()
        self._listener.setblocking(False)
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listener)
            except OSError as error:  # out of file descriptors or memory, or the client has left
                self.refusals.note("connection", f": {error.strerror}")
                self._make_room()
                await asyncio.sleep(0.1)
                continue
            try:
                while len(self._open) >= most and not self._make_room():
                    self._changed.clear()
                    await self._changed.wait()
            except BaseException:
                accepted.close()
                raise
            task = asyncio.create_task(self._serve(accepted))
            self._open.add(task)
            self._starting.add(task)
            task.add_done_callback(self._closed)
            await asyncio.sleep(0)  # read what others have sent before they have to make room

    def wait(self, connection: Connection) -> None:
        """Let the connection be closed to make room for another one."""
        self.waiting[connection] = None
        self._changed.set()

    def _make_room(self) -> bool:
        """Close a connection that waits: the oldest one without an accepted request, if there is any."""
        if not self.waiting:
            return False
        connection = min(self.waiting, key=lambda one: one.known)
        if connection.known and self._starting:  # one of those will give way
            return False
        self.refusals.note("connection", " closed to make room")
        del self.waiting[connection]
        connection.abort()
        self._open.discard(connection.task)
        self._closing.add(connection.task)
        return True

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._closing.discard(task)
        self._starting.discard(task)
        self._changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("internal error in a connection", exc_info=error)

    async def _serve(self, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            # Small packets go out at once; else the second part of an answer waits 40 ms for the first.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=PIECE)
            transport, protocol = await loop.connect_accepted_socket(
                lambda: asyncio.StreamReaderProtocol(reader), accepted
            )
            transport.set_write_buffer_limits(high=0)  # `drain` waits until the client has everything
            connection = Connection(self, reader, asyncio.StreamWriter(transport, protocol, reader, loop))
            self._starting.discard(connection.task)
            try:
                await connection.run()
            finally:
                self.waiting.pop(connection, None)
                connection.abort()


class Connection:
    """The requests and answers of a client, one after the other."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self._client = writer.get_extra_info("peername")[:2] if writer.get_extra_info("peername") else None
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=BUDGET)
        self._excess = 0  # bytes of the request outside its body, minus those in it
        self._unsent = b""  # the head of an answer, until its body is there
        self._only_head = False
        self._last = False  # the connection ends after this answer
        self.task: Any = asyncio.current_task()
        self.known = False  # the application has accepted the head of a request of this client

    def abort(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    async def run(self) -> None:
        """Answer requests until the client or an error ends the connection."""
        http, server = self._http, self._server
        while not server.stopping:
            server.wait(self)
            self._only_head = False  # also for the answer to what is not a request
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    request = await self._next_event()
                if not isinstance(request, h11.Request):
                    return
                self._only_head = request.method == b"HEAD"
                if {name for name, _ in request.headers} >= TWO_LENGTHS:  # a proxy may use the other one
                    raise Refused("the request has both Content-Length and Transfer-Encoding")
                await server.app(self._scope(request), self._receive, self._send)
            except Refused as error:
                if self._writer.is_closing():
                    return
                self._last = True
                await self._refuse(error)
            server.waiting.pop(self, None)
            if self._writer.is_closing():
                return
            if http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
                await self._linger()
                return
            http.start_next_cycle()
            self._excess = len(http.trailing_data[0])
            server.wait(self)
            await asyncio.sleep(0)  # a pipeline must not keep others waiting

    async def _next_event(self) -> Any:
        """The next event of the client; the budget is checked when everything read so far is parsed."""
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                if self._excess > BUDGET:
                    what = f"a request has {BUDGET} bytes more outside its body than in it"
                    raise Refused(what, 431)
                try:
                    data = await self._reader.read(PIECE)
                except OSError:  # the client has gone
                    data = b""
                self._excess += len(data)
                self._http.receive_data(data)
                await asyncio.sleep(0)  # a large request must not keep others waiting
        except h11.RemoteProtocolError as error:
            what = str(error).partition(": bytearray(")[0]
            what = "too long" if error.error_status_hint == 431 else f"not HTTP: {what}"
            raise Refused(f"the request is {what}", error.error_status_hint) from None
        if isinstance(event, h11.Data):
            self._excess -= 2 * len(event.data)  # it was counted as outside when it came
        return event

    def _scope(self, request: h11.Request) -> Message:
        target = request.target
        if not target.startswith(b"/") and (found := ABSOLUTE.match(target)):
            target = target[found.end() :] or b"/"
        path, _, query = target.partition(b"?")
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": request.http_version.decode(),
            "method": request.method.decode(), "scheme": "http", "path": unquote(path.decode("latin-1")),
            "raw_path": path, "query_string": query, "root_path": "", "headers": list(request.headers),
            "client": self._client, "server": self._server.address,
        }  # fmt: skip

    async def _receive(self) -> Message:
        """A part of the body, as ASGI defines it. The connection stops waiting when the body is complete.

        The application must check who the client is before it reads a body: then the client is known.
        """
        self.known = True
        if self._http.they_are_waiting_for_100_continue:
            await self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
        if self._http.their_state is not h11.SEND_BODY:
            return {"type": "http.disconnect"}
        event = await self._next_event()
        if isinstance(event, h11.Data):
            return {"type": "http.request", "body": bytes(event.data), "more_body": True}
        if not isinstance(event, h11.EndOfMessage):
            return {"type": "http.disconnect"}
        self._server.waiting.pop(self, None)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Message) -> None:
        """A part of the answer, as ASGI defines it."""
        http = self._http
        if message["type"] == "http.response.start":
            headers = [
                *message["headers"],
                *self._server.headers,
                (b"date", formatdate(usegmt=True).encode()),
            ]
            if self._body_is_unread() or self._last or self._server.stopping:
                headers.append((b"connection", b"close"))
            self._unsent = (
                http.send(
                    h11.Response(
                        status_code=message["status"],
                        headers=headers,
                        reason=REASONS.get(message["status"], b""),
                    )
                )
                or b""
            )
            return
        data, self._unsent = self._unsent, b""
        if message.get("body") and not self._only_head:
            data += http.send(h11.Data(data=message["body"])) or b""
        if not message.get("more_body"):
            data += http.send(h11.EndOfMessage()) or b""
        await self._write(data)

    def _body_is_unread(self) -> bool:
        """Whether the client has more to send than what was read from the socket."""
        with contextlib.suppress(h11.RemoteProtocolError):
            while self._http.their_state is h11.SEND_BODY:
                if self._http.next_event() is h11.NEED_DATA:
                    return True
        return self._http.their_state is h11.ERROR

    async def _write(self, data: bytes) -> None:
        """Write, and wait for the client to read; a client that does not is disconnected."""
        for start in range(0, len(data), WRITTEN):
            try:
                self._writer.write(data[start : start + WRITTEN])
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._writer.drain()
            except (OSError, TimeoutError):
                self.abort()
                return

    async def _refuse(self, error: Refused) -> None:
        """Answer a request whose headers are too long or not HTTP."""
        self._server.refusals.note("request", f" with status {error.status}")
        content = json.dumps({"error": str(error)}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await self._send({"type": "http.response.start", "status": error.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": content})

    async def _linger(self) -> None:
        """Let the client read the answer: closing a socket with unread data would discard it."""
        if not self._last and self._http.their_state not in (h11.SEND_BODY, h11.ERROR):
            return
        self._server.wait(self)
        self._writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while await self._reader.read(1 << 16):
                    pass


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first SIGINT or SIGTERM; the next one does what it did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(number: int, frame: Any) -> None:
        restore()
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        restore()


def _most_connections() -> int:
    """`CONNECTIONS`, or fewer if the process may open few files."""
    try:
        import resource
    except ImportError:  # Windows
        return CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if files < 0 else max(1, min(CONNECTIONS, files - SPARE_FILES))
