"""The budget of a connection: its bytes, its time and its place among the others."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

pytest.importorskip("starlette")

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from structsvm.integrations import h11 as server
from structsvm.integrations.starlette import LocalService, read_json
from tests.web import call, everything, running, until

TOKEN = "a-token-of-the-tests"
GET = f"GET /{TOKEN}/?n=%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = f"POST /{TOKEN}/echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


async def number(request: Request) -> Response:
    return JSONResponse({"n": request.query_params.get("n")})


async def echo(request: Request) -> Response:
    return JSONResponse(await read_json(request))


async def much(request: Request) -> Response:
    return Response(b"x" * (8 << 20))


ROUTES = [Route("/", number), Route("/echo", echo, methods=["POST"]), Route("/much", much)]


def new_service() -> LocalService:
    return LocalService(ROUTES, token=TOKEN, max_bytes=1 << 20)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running(new_service()) as number:
        yield number


def opened(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def sent_until_closed(port: int, head: bytes, part: bytes, most: int) -> tuple[bytes, int]:
    """Send a part again and again; the answer, and the bytes sent until the connection was closed."""
    sent = 0
    with opened(port) as raw:
        raw.sendall(head)
        with contextlib.suppress(ConnectionError):
            while sent < most:
                raw.sendall(part)
                sent += len(part)
        raw.settimeout(5)
        with contextlib.suppress(ConnectionError):
            return everything(raw), sent
    return b"", sent


# -- bytes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (POST + b"2\r\n{}\r\n0\r\n", b"a: b\r\n" * 1000),
        (POST + b"2\r\n{}\r\n0\r\n", b"a: b" * 1000),
        (POST, b"1;name=value\r\n \r\n" * 1000),
        (POST, b"1\r\n \r\n" * 1000),
        (POST + b"1;", b"x" * 4000),
        (b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 1000),
        (b"GET /", b"x" * 4000),
    ],
    ids=[
        "trailers",
        "a long trailer",
        "chunk extensions",
        "small chunks",
        "a long extension",
        "headers",
        "a target",
    ],
)
def test_bytes_outside_a_body_end_the_connection_when_there_are_too_many(
    port: int, head: bytes, part: bytes
) -> None:
    answer, _ = sent_until_closed(port, head, part, 1 << 20)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"connection: close" in answer


def test_trailers_of_a_request_without_the_token_are_not_read(port: int) -> None:
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    answer, _ = sent_until_closed(port, head, b"a: b\r\n" * 1000, 1 << 20)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"connection: close" in answer


def test_a_body_in_ordinary_chunks_is_within_the_budget(port: int) -> None:
    parts = [b'{"a": "', *[b"x" * 1000] * 1000, b'"}']
    with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request(
            "POST", f"/{TOKEN}/echo", iter(parts), {"Transfer-Encoding": "chunked"}, encode_chunked=True
        )
        answer = connection.getresponse()
        assert (answer.status, len(answer.read())) == (200, 1_000_008)


def test_the_budget_grows_with_a_body_that_comes_in_many_small_chunks(port: int) -> None:
    line = b'"a line of the text",\n'
    with opened(port) as raw:
        writer = threading.Thread(
            target=raw.sendall,
            args=(
                POST
                + b'7\r\n{"a": [\r\n'
                + (b"%x\r\n%s\r\n" % (len(line), line)) * 20_000
                + b"5\r\n 0 ]}\r\n0\r\n\r\n",
            ),
        )
        writer.start()
        answer = raw.recv(100)
        writer.join()
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_requests_of_a_pipeline_are_answered_in_order(port: int) -> None:
    many = 3000
    with opened(port) as raw:
        lines = "".join(GET % number for number in range(many - 1))
        last = (GET % (many - 1)).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
        writer = threading.Thread(target=raw.sendall, args=((lines + last).encode(),))
        writer.start()
        answers = everything(raw)
        writer.join()
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == many
    found = [part.partition(b'"')[0] for part in answers.split(b'{"n":"')[1:]]
    assert found == [str(number).encode() for number in range(many)]


def test_a_refusal_that_leaves_the_body_unread_closes_the_connection(port: int) -> None:
    hidden = GET % 1  # must not be taken for a request
    for path, status in ((b"/", b"401"), (f"/{TOKEN}/echo".encode(), b"413")):
        length = b"%d" % (2 << 20)
        with opened(port) as raw:
            raw.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n" % (path, length))
            raw.sendall(hidden.encode())
            answer = everything(raw)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert answer.count(b"HTTP/1.1") == 1


def test_a_refusal_with_the_body_read_leaves_the_connection_open(port: int) -> None:
    with opened(port) as raw:
        for _ in range(3):
            raw.sendall(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
            answer = raw.recv(4096)
            assert answer.startswith(b"HTTP/1.1 401")
            assert b"connection: close" not in answer


def test_a_body_that_ends_early_is_refused(port: int) -> None:
    with opened(port) as raw:
        raw.sendall(
            f"POST /{TOKEN}/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{{}}".encode()
        )
        raw.shutdown(socket.SHUT_WR)
        assert everything(raw).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "request_",
    [
        b"hello\r\n\r\n", b"\x16\x03\x01", b"GET / HTTP/3\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost : b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        POST + b"x\r\n", POST + b"1\r\nab\r\n",
        POST.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n") + b"0\r\n\r\n" + (GET % 1).encode(),
    ],
)  # fmt: skip
def test_what_is_not_http_gets_one_sentence_and_is_closed(port: int, request_: bytes) -> None:
    with opened(port) as raw:
        raw.sendall(request_)
        answer = everything(raw)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"x-content-type-options: nosniff" in head
    assert body.startswith(b'{"error"')
    assert b"bytearray" not in body
    assert b"HTTP/1.1" not in body  # what follows is not taken for a request


def test_a_refused_head_request_gets_only_the_head_of_the_answer(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(port) as raw:
        raw.sendall(b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n")
        head, _, body = everything(raw).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert body == b""
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_what_is_not_http_gets_its_sentence_also_after_a_head_request(port: int) -> None:
    with opened(port) as raw:
        raw.sendall(f"HEAD /{TOKEN}/ HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n".encode())
        answers = everything(raw).split(b"HTTP/1.1 ")
    assert [answer[:3] for answer in answers] == [b"", b"200", b"400"]
    assert answers[2].endswith(b'"}')


def test_a_client_that_resets_its_connection_is_not_an_error(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    for start in (b"GET / HT", POST + b"2\r\n{}\r\n", POST + b"5"):
        with opened(port) as raw:
            raw.sendall(start)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close resets
            call(port, f"/{TOKEN}/")  # the service has read the start by now
    assert call(port, f"/{TOKEN}/")[0] == 200
    assert "internal error" not in caplog.text


def test_the_rest_of_http_that_clients_use_works(port: int) -> None:
    def answer(request: str) -> bytes:
        with opened(port) as raw:
            raw.sendall(request.replace("\n", "\r\n").encode())
            return everything(raw)

    end = "Host: localhost\nConnection: close\n\n"
    assert answer(f"GET /{TOKEN}/?n=5 HTTP/1.0\nHost: localhost\n\n").endswith(b'{"n":"5"}')
    assert answer(f"GET http://localhost/{TOKEN}/?n=5 HTTP/1.1\n{end}").endswith(b'{"n":"5"}')
    head = answer(f"HEAD /{TOKEN}/ HTTP/1.1\n{end}")
    assert b"content-length: 10\r\n" in head
    assert head.endswith(b"\r\n\r\n")
    assert b" 101 " not in answer(f"GET /{TOKEN}/ HTTP/1.1\nUpgrade: websocket\n{end}")
    assert answer(f"OPTIONS * HTTP/1.1\n{end}").startswith(b"HTTP/1.1 401")
    with opened(port) as raw:
        raw.sendall(
            f"POST /{TOKEN}/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
            "Expect: 100-continue\r\n\r\n".encode()
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 100 ")
        raw.sendall(b"{}")
        assert raw.recv(100).startswith(b"HTTP/1.1 200 ")


# -- time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [b"", b"GET / HTT", (GET % 1).encode(), (GET % 1 + "GET /").encode()])
def test_a_connection_ends_if_its_first_or_next_request_does_not_arrive(
    start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "WAIT_SECONDS", 0.3)
    with running(new_service()) as port, opened(port) as raw:
        raw.sendall(start)
        received = everything(raw)  # until the service closes
        assert received.count(b"HTTP/1.1 200") == (b"\r\n\r\n" in start)


def test_bytes_that_trickle_do_not_prolong_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WAIT_SECONDS", 0.5)
    with running(new_service()) as port, opened(port) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n")

        def send() -> bool:
            try:
                raw.sendall(b"a: b\r\n")
            except ConnectionError:
                return True
            return False

        until(send)


def test_a_client_that_does_not_read_its_answer_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WAIT_SECONDS", 0.3)
    service = new_service()
    with running(service) as port, opened(port) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.sendall(f"GET /{TOKEN}/much HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert raw.recv(1)
        until(lambda: not service._server._open)


# -- places -----------------------------------------------------------------------------------------


def test_idle_connections_give_way_to_new_ones(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 20)
    service = new_service()
    with running(service) as port, contextlib.ExitStack() as stack:
        honest = stack.enter_context(contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=20)))
        for number in range(60):
            idle = stack.enter_context(opened(port))
            if number % 2:
                idle.sendall(b"GET / HT")
            if number % 10 == 0:  # a client that uses its connection keeps it
                honest.request("GET", f"/{TOKEN}/?n={number}")
                assert honest.getresponse().read() == b'{"n":"%d"}' % number
            assert len(service._server._open) <= 20
        assert call(port, f"/{TOKEN}/")[0] == 200
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2  # the first one at once, the others when the service ends
    assert lines[0] == "refused: 1 connection closed to make room"


def test_a_request_in_time_is_answered_however_many_connect_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    service = new_service()
    monkeypatch.setattr(server, "CONNECTIONS", 20)
    with contextlib.ExitStack() as stack:
        port = service._socket.getsockname()[1]  # the system accepts before the service runs
        honest = stack.enter_context(opened(port))
        honest.sendall((GET % 7).encode())
        for _ in range(200):
            stack.enter_context(opened(port))
        stack.enter_context(running(service))
        assert honest.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_sent_the_token_keeps_its_place_while_its_body_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 20)
    with running(new_service()) as port, contextlib.ExitStack() as stack:
        first = stack.enter_context(opened(port))
        first.sendall(POST + b"2\r\n{}\r\n")
        assert call(port, f"/{TOKEN}/")[0] == 200  # the service has read the half by now
        for _ in range(60):
            idle = stack.enter_context(opened(port))
            idle.sendall(b"GET / HT")
        assert call(port, f"/{TOKEN}/")[0] == 200
        first.sendall(b"0\r\n\r\n")
        assert first.recv(100).startswith(b"HTTP/1.1 200 ")


def test_connections_at_work_do_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 1)
    started, go_on = threading.Event(), threading.Event()

    async def slow(request: Request) -> Response:
        started.set()
        await asyncio.to_thread(go_on.wait, 20)
        return JSONResponse({"done": True})

    with running(LocalService([Route("/", slow)], token=TOKEN)) as port, opened(port) as first:
        first.sendall((GET % 1).encode())
        assert started.wait(20)
        with opened(port) as second:
            second.sendall((GET % 2).encode())
            go_on.set()
            assert first.recv(4096).startswith(b"HTTP/1.1 200")
            assert second.recv(4096).startswith(b"HTTP/1.1 200")


def test_a_process_with_few_files_still_answers_when_many_connect() -> None:
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
from structsvm.integrations.starlette import LocalService
from tests.structsvm.test_connections import ROUTES
service = LocalService(ROUTES, token={TOKEN!r})
print(service.url, flush=True)
service.run()
"""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 400:
        pytest.skip("needs 400 open files")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split(b":")[2].split(b"/")[0])
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(opened(port))
            assert call(port, f"/{TOKEN}/")[0] == 200
        process.terminate()
        logged = process.communicate(timeout=30)[1]
        assert process.returncode == 0
        assert len(logged.splitlines()) <= 2, logged[:1000]


def test_what_is_refused_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    with running(new_service()) as port:
        for _ in range(50):
            assert call(port, "/")[0] == 401
        assert [record.getMessage() for record in caplog.records] == ["refused: 1 request with status 401"]
    assert caplog.records[-1].getMessage() == "refused: 49 requests with status 401"
