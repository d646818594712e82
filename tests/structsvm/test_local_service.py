"""The web service that `serve` and `teach` share: who may call it, and what it refuses."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from structsvm.integrations import starlette as web
from structsvm.integrations.starlette import LocalService, Refused, read_json
from tests.web import call, everything, running, until

TOKEN = "a-token-of-the-tests"


async def echo(request: Request) -> Response:
    return JSONResponse({"path": request.url.path, "body": await read_json(request)})


async def say(request: Request) -> Response:
    return JSONResponse({"said": request.query_params.get("what")})


async def refuse(request: Request) -> Response:
    raise Refused("this is refused", 409)


async def fail(request: Request) -> Response:
    raise RuntimeError("secret details")


ROUTES = [
    Route("/", say), Route("/echo", echo, methods=["POST"]), Route("/refuse", refuse), Route("/fail", fail)
]  # fmt: skip


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running(LocalService(ROUTES, token=TOKEN, max_bytes=1000, allow_hosts=["box.lan"])) as number:
        yield number


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


def test_the_token_opens_the_service_in_the_path_and_in_the_header(port: int) -> None:
    assert call(port, f"/{TOKEN}/?what=hello") == (200, {"said": "hello"})
    assert call(port, "/?what=a", Authorization=f"Bearer {TOKEN}") == (200, {"said": "a"})
    assert call(port, "/?what=b", Authorization=basic(TOKEN)) == (200, {"said": "b"})


@pytest.mark.parametrize(
    "path", ["/", "/echo", "/wrong-token/", f"/{TOKEN}x/", f"/%2f{TOKEN}/", "/%c3%a9/", "/%ff/"]
)
def test_requests_without_the_token_are_refused(port: int, path: str) -> None:
    assert call(port, path)[0] == 401
    assert call(port, path, Authorization="Bearer wrong")[0] == 401
    assert call(port, path, Authorization=basic("wrong"))[0] == 401
    assert call(port, path, Authorization="Basic %%%")[0] == 401


def test_a_path_with_only_the_token_is_redirected_so_that_relative_links_work(port: int) -> None:
    with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", f"/{TOKEN}")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["location"]) == (307, f"/{TOKEN}/")


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "[::1]:80", "BOX.lan:9"])
def test_hosts_that_name_this_machine_are_accepted(port: int, host: str) -> None:
    assert call(port, f"/{TOKEN}/", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "",
        "a b",
        "127.0.0.1@evil",
        "[::1",
        "localhost:1:2",
    ],
)
def test_other_hosts_are_refused(port: int, host: str) -> None:
    status, answer = call(port, f"/{TOKEN}/", Host=host)
    assert (status, "Host" in answer["error"]) == (403, True)


def test_probes_need_neither_token_nor_host_and_learn_only_that_the_service_is_up(port: int) -> None:
    for host in ("127.0.0.1", "10.0.0.1:80", "service.example"):
        assert call(port, "/health", Host=host) == (200, {"status": "UP"})
    assert call(port, "/health/", Host="10.0.0.1")[0] == 403
    assert call(port, "/health", b"{}")[0] == 401  # only GET
    assert call(port, "/wrong-token/health")[0] == 401
    assert call(port, f"/{TOKEN}/health")[0] == 404  # what a service says there is its own matter


def test_a_refused_host_is_named_with_the_option_that_allows_it(port: int) -> None:
    answer = call(port, f"/{TOKEN}/", Host="tagger.default.svc:9090")
    what = "the Host header names tagger.default.svc; to allow it, start with --allow-host tagger.default.svc"
    assert answer == (403, {"error": what})


def test_a_body_with_too_many_values_is_refused_before_it_is_parsed() -> None:
    with running(LocalService(ROUTES, token=TOKEN, max_values=100)) as port:
        for body in (b'{"a":[' + b"1," * 200 + b"1]}", b'{"a":' + b"[" * 200, b'{"a":' * 200):
            status, answer = call(port, f"/{TOKEN}/echo", body)
            assert (status, "more than 100 commas and brackets" in answer["error"]) == (413, True)
        assert call(port, f"/{TOKEN}/echo", b'{"a":[' + b"1," * 90 + b"1]}")[0] == 200


def test_any_address_is_accepted_only_by_a_service_that_listens_on_one() -> None:
    with running(LocalService(ROUTES, host="0.0.0.0", token=TOKEN)) as port:
        assert call(port, f"/{TOKEN}/", Host=f"10.0.0.1:{port}")[0] == 200
        assert call(port, f"/{TOKEN}/", Host=f"evil.example:{port}")[0] == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://127.0.0.1", "http://localhost.evil"]
)
def test_other_origins_are_refused(port: int, origin: str) -> None:
    status, answer = call(port, f"/{TOKEN}/", Origin=origin)
    assert (status, answer["error"]) == (403, "requests from other web pages are not allowed")


def test_the_own_origin_is_accepted(port: int) -> None:
    assert call(port, f"/{TOKEN}/", Origin=f"http://127.0.0.1:{port}")[0] == 200


def test_a_json_object_is_read(port: int) -> None:
    status, answer = call(port, f"/{TOKEN}/echo", '{"text": "<script>é\U0001f600"}'.encode())
    assert (status, answer) == (200, {"path": "/echo", "body": {"text": "<script>é\U0001f600"}})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not JSON: "),
        (b"{", "the body is not JSON: "),
        (b"\xff{}", "the body is not UTF-8: byte 0xff at 0"),
        (b"[1]", "the body must be a JSON object, got list"),
        (b'{"a": NaN}', "the body is not JSON: NaN is not a JSON number"),
        (b'{"a": "\\ud800"}', "the body has half of a surrogate pair"),
        (b'{"a": ' + b"[" * 900, "the body is not JSON"),
        (b'{"a": ' + b"1" * 900 + b"}", None),
    ],
)  # fmt: skip
def test_bad_bodies_get_one_sentence(port: int, body: bytes, message: str | None) -> None:
    status, answer = call(port, f"/{TOKEN}/echo", body)
    if message is None:
        assert status == 200
    else:
        assert status == 400
        assert answer["error"].startswith(message)
        assert "\n" not in answer["error"]


def test_deep_nesting_is_refused() -> None:
    with running(LocalService(ROUTES, token=TOKEN)) as port:
        status, answer = call(port, f"/{TOKEN}/echo", b'{"a": ' + b"[" * 200_000)
        assert (status, answer["error"]) == (400, "the body is nested too deeply")
        status, answer = call(port, f"/{TOKEN}/echo", b'{"a": ' + b"1" * 5000 + b"}")
        assert status == 400


def test_large_requests_are_refused(port: int) -> None:
    body = json.dumps({"text": "x" * 2000}).encode()
    assert call(port, f"/{TOKEN}/echo", body)[0] == 413
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):  # in chunks, without a length
        connection.request("POST", f"/{TOKEN}/echo", iter([body[:900], body[900:]]), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})  # fmt: skip
        assert connection.getresponse().status == 413
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:  # refused before it is sent
        raw.sendall(
            f"POST /{TOKEN}/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n".encode()
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_endless_headers_end_the_connection(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        raw.sendall(f"GET /{TOKEN}/ HTTP/1.1\r\nHost: localhost\r\nX: ".encode())
        for _ in range(100):
            raw.sendall(b"x" * 4096)
        assert everything(raw).startswith(b"HTTP/1.1 431 ")
    assert call(port, f"/{TOKEN}/")[0] == 200


def test_a_body_that_does_not_arrive_is_refused(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "BODY_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        raw.sendall(f"POST /{TOKEN}/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{{".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 408")


def test_answers_are_sent_without_delay() -> None:
    service = LocalService(ROUTES, token=TOKEN)
    with (
        running(service) as port,
        contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection,
    ):
        connection.request("GET", f"/{TOKEN}/")
        assert connection.getresponse().status == 200
        until(lambda: bool(service._server.waiting))
        (open_one,) = service._server.waiting
        peer = open_one._writer.get_extra_info("socket")
        assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_errors_are_json_with_one_sentence(port: int, caplog: pytest.LogCaptureFixture) -> None:
    assert call(port, f"/{TOKEN}/refuse") == (409, {"error": "this is refused"})
    assert call(port, f"/{TOKEN}/nothing") == (404, {"error": "GET /nothing: Not Found"})
    assert call(port, f"/{TOKEN}/echo")[0] == 405
    status, answer = call(port, f"/{TOKEN}/fail")
    assert (status, answer["error"]) == (500, "internal error; the service has logged it")
    assert "secret details" in caplog.text


def test_the_token_is_not_logged_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    service = LocalService(ROUTES, token=TOKEN)
    service.max_bytes = None  # type: ignore[assignment]  # an error of the service itself, before any route
    with running(service) as port:
        assert call(port, f"/{TOKEN}/echo", body=b"{}")[0] == 500
    assert "internal error in '/echo'" in caplog.text
    assert TOKEN not in caplog.text


def test_a_used_port_and_bad_addresses_give_one_sentence(port: int) -> None:
    with pytest.raises(ValueError, match=f"port {port} is in use; stop the program"):
        LocalService(ROUTES, port=port)
    with pytest.raises(ValueError, match=r"cannot listen on 192\.0\.2\.1"):
        LocalService(ROUTES, host="192.0.2.1")
    with pytest.raises(ValueError, match="16 to 256 letters"):
        LocalService(ROUTES, token="short")


def test_tokens_are_random() -> None:
    services = [LocalService(ROUTES) for _ in range(2)]
    for service in services:
        service._socket.close()
    assert services[0].token != services[1].token
    assert len(services[0].token) >= 32


def test_a_failed_start_raises_its_reason() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> Any:
        raise ValueError("the journal belongs to another model")
        yield

    with pytest.raises(ValueError, match="the journal belongs to another model"):
        LocalService(ROUTES, lifespan=lifespan).run()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_service_after_its_cleanup(number: signal.Signals) -> None:
    program = """
import contextlib
from structsvm.integrations.starlette import LocalService
@contextlib.asynccontextmanager
async def lifespan(app):
    print("up", flush=True)
    yield
    print("down", flush=True)
LocalService([], lifespan=lifespan).run()
print("ended", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        os.kill(process.pid, number)
        assert process.communicate(timeout=30)[0] == "down\nended\n"
        assert process.returncode == 0
