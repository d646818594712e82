"""A web service for one machine: bound to loopback, behind a random token, with every request checked.

`structsvm serve` and `structsvm teach` run on it. A request reaches a route only if

* its Host header names this machine, so a web page cannot reach the service through a DNS name of its own;
* its Origin, if it has one, is the service itself, so other pages cannot call it from a browser;
* it has the token: as the first segment of the path, as a bearer token, or as the password of basic auth;
* its head and body are not larger than the limits, and the body arrives in time.

Only GET /health needs none of this; without the token it says no more than that the service is up.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import ipaddress
import json
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Router

from structsvm.files.errors import DataError
from structsvm.integrations.h11 import Refused, Server, bind
from structsvm.integrations.processes import run_in_processes

__all__ = ["LocalService", "Refused", "check_fields", "check_token", "field", "read_json"]

Message = MutableMapping[str, Any]
Kind = TypeVar("Kind")
log = logging.getLogger("structsvm.serve")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HOST = re.compile(rb"(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::\d{1,5})?")
TOKEN = re.compile(r"[\w-]{16,256}", re.ASCII)
BODY_SECONDS = 30.0
KINDS: dict[Any, str] = {
    str: "a string",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    int: "a number",
}
UNKNOWN_CLIENT = (401, 403, 408, 413)
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


async def read_json(request: Request) -> dict[str, Any]:
    """The body of a request as a JSON object, or Refused.

    The parser cannot be interrupted, so the number of values is limited. Between the steps, other requests
    get a turn.
    """
    body, most = await request.body(), request.app.max_values
    if body.count(b",") + body.count(b"[") + body.count(b"{") > most:
        raise Refused(f"the body has more than {most} commas and brackets; send less in one request", 413)
    try:
        await asyncio.sleep(0)
        text = body.decode("utf-8-sig")
        await asyncio.sleep(0)
        value = json.loads(text, parse_constant=_refuse_constant)
        await asyncio.sleep(0)
        if "\\u" in text:  # half of a surrogate pair is valid JSON, but not text
            json.dumps(value, ensure_ascii=False).encode()
            await asyncio.sleep(0)
    except UnicodeDecodeError as error:
        raise Refused(f"the body is not UTF-8: byte 0x{body[error.start]:02x} at {error.start}") from None
    except UnicodeEncodeError:
        raise Refused("the body has half of a surrogate pair (\\ud800 to \\udfff) in a string") from None
    except RecursionError:
        raise Refused("the body is nested too deeply") from None
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused(f"the body must be a JSON object, got {type(value).__name__}")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def field(body: dict[str, Any], name: str, kind: type[Kind], where: str = "") -> Kind:
    """A field of an object, or Refused if it is missing or of another type."""
    value = body.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Refused(f"{where}{name} must be {KINDS[kind]}")
    return value


def check_fields(body: dict[str, Any], *known: str) -> None:
    """Refuse fields without a meaning: they are probably misspelt."""
    for name in body:
        if name not in known:
            raise Refused(f"unknown field {name[:40]!r}; the fields are {', '.join(known)}")


def check_token(token: str) -> str:
    """The token, or ValueError if it is too easy to guess or does not fit into a URL."""
    if not TOKEN.fullmatch(token):
        raise ValueError("a token must have 16 to 256 letters, digits, - or _")
    return token


class LocalService:
    """Routes behind the checks of this module, on a port that is bound at once.

    host: the address to listen on; others than loopback let other machines in.
    port: 0 for any free one. token: None for a random one.
    allow_hosts: names that the Host header may have besides this machine's addresses.
    max_bytes, max_values: of the body of a request. lifespan: a context manager around the run, as Starlette
    defines it.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        allow_hosts: Collection[str] = (),
        max_bytes: int = 1 << 20,
        max_values: int = 250_000,
        lifespan: Callable[[Any], Any] | None = None,
    ) -> None:
        self._is_chosen = token is not None
        self.token = secrets.token_urlsafe(24) if token is None else check_token(token)
        self.max_bytes, self.max_values = max_bytes, max_values
        self._hosts = {name.lower() for name in (*LOOPBACK, *allow_hosts)}
        self._router = Router(routes, redirect_slashes=False)
        self._lifespan = lifespan
        self._socket = bind(host, port)
        self._any_address = not ipaddress.ip_address(self._socket.getsockname()[0]).is_loopback
        self._server = Server(self, self._socket, HEADERS)

    @property
    def url(self) -> str:
        """The address of the service, with its token."""
        name, port = self._socket.getsockname()[:2]
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/{self.token}/"

    @contextlib.contextmanager
    def redirect(self, folder: str | os.PathLike[str]) -> Iterator[str]:
        """The address of a file that leads to the service; only its owner can read it.

        Everyone on the machine can read the arguments of a browser, so the token must not be among them.
        """
        file, path = tempfile.mkstemp(".html", "structsvm-", folder)  # browsers in a sandbox hide /tmp
        try:
            with open(file, "w", encoding="utf-8") as out:
                out.write(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={self.url}">\n')
            yield Path(path).resolve().as_uri()
        finally:
            Path(path).unlink(missing_ok=True)

    @property
    def shown_url(self) -> str:
        """The address to print. It has the token only if it is random, because output may be logged."""
        return self.url.replace(self.token, "$STRUCTSVM_TOKEN") if self._is_chosen else self.url

    def run(self, workers: int = 1) -> None:
        """Serve until Ctrl-C, SIGTERM or `stop`; requests under way are answered first."""
        with self._socket:
            if workers > 1:
                run_in_processes(workers, self._run, self.stop)
            else:
                self._run()

    def _run(self) -> None:
        self._server.run(self._lifespan(self) if self._lifespan else contextlib.nullcontext())

    def stop(self) -> None:
        """End `run`, from any thread."""
        self._server.stop()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """The ASGI application."""
        response: Response | None = None
        path = ""  # without the token, which must not be logged
        try:
            path = self._checked_path(scope)
            if path == "":  # without the slash, the relative links of a page would lose the token
                response = RedirectResponse(f"/{self.token}/")
            else:
                body = await _whole_body(scope, receive, self.max_bytes)
                scope = {**scope, "path": path, "raw_path": path.encode(), "app": self}
                await self._router(scope, body, send)
        except DataError as error:
            if path == "" and scope["path"] == "/health" and scope["method"] in ("GET", "HEAD"):
                response = JSONResponse({"status": "UP"})  # for probes, which have no token
            else:
                response = JSONResponse({"error": str(error)}, getattr(error, "status", 400))
            if response.status_code in UNKNOWN_CLIENT:
                self._server.refusals.note("request", f" with status {response.status_code}")
        except HTTPException as error:
            response = JSONResponse({"error": f"{scope['method']} {scope['path']}: {error.detail}"},
                                    error.status_code, error.headers)  # fmt: skip
        except Exception:
            log.exception("internal error in %r", path)
            response = JSONResponse({"error": "internal error; the service has logged it"}, 500)
        if response is not None:
            await response(scope, receive, send)

    def _checked_path(self, scope: Message) -> str:
        """The path without the token, or Refused; empty if there is only the token."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or (name := _name(hosts[0])) is None:
            raise Refused("the Host header must be the name of this machine", 403)
        if not self._is_ours(name):
            raise Refused(f"the Host header names {name}; to allow it, start with --allow-host {name}", 403)
        origins = headers.get(b"origin", [])
        if any(origin.partition(b"://")[2] != hosts[0] for origin in origins):
            raise Refused("requests from other web pages are not allowed", 403)
        path: str = scope["path"]
        first, slash, rest = path.removeprefix("/").partition("/")
        if self._is_token(first):
            return slash + rest
        if any(self._is_token(given) for given in map(_credential, headers.get(b"authorization", []))):
            return path
        raise Refused("the token is missing or wrong; use the address that the service printed", 401)

    def _is_ours(self, name: str) -> bool:
        if name in self._hosts:
            return True
        if not self._any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def _name(host: bytes) -> str | None:
    """The name or address in a Host header, or None if it is malformed."""
    found = HOST.fullmatch(host)
    return None if found is None else (found[1] or found[2])[:255].decode("ascii", "replace").lower()


def _credential(value: bytes) -> str:
    """The token of an Authorization header."""
    kind, _, text = value.decode("latin-1").partition(" ")
    if kind.lower() == "bearer":
        return text.strip()
    with contextlib.suppress(binascii.Error, UnicodeDecodeError):
        if kind.lower() == "basic":
            return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
    return ""


async def _whole_body(scope: Message, receive: Any, most: int) -> Callable[[], Any]:
    """Read a body of at most `most` bytes, and return the function that passes it to the application."""
    too_large = Refused(f"the request is too large; the limit is {most} bytes", 413)
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value[:20]) > most):
            raise too_large
    parts, size, more = [], 0, True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused("the request ended before its body was complete")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = message.get("more_body", False)
                if size > most:
                    raise too_large
    except TimeoutError:
        raise Refused(f"the request did not arrive within {BODY_SECONDS:.0f} seconds", 408) from None
    whole = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def receive_body() -> Message:
        return whole.pop() if whole else await receive()

    return receive_body
