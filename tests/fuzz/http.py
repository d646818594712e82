"""Fuzz the socket of `structsvm serve`: heads, chunks, pipelines, and bodies of JSON and XML."""

from __future__ import annotations

import contextlib
import json
import logging
import random
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import changed_json, mutated
from tests.fuzz.services import REQUESTS, prepared
from tests.inception import LAYER, TYPES, xmi

DOCUMENT = xmi("Anna sings in Rome", [(0, 4), (5, 10), (11, 13), (14, 18)], [(0, 18)], names=1)
METADATA = {"layer": LAYER, "feature": "value"}
BODIES: list[tuple[str, Any]] = [
    *REQUESTS["serve"],
    ("/inception/predict", {"metadata": METADATA, "document": {"xmi": DOCUMENT}, "typeSystem": TYPES}),
    ("/inception/train", {"metadata": METADATA, "documents": [{"xmi": DOCUMENT}], "typeSystem": TYPES}),
]
GETS = ["/", "/health", "/metrics", "/openapi.json", "/label-studio/health", "/nothing", "/%2e%2e/x"]
METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "CONNECT", "get", "P\xd6ST"]
HEADERS = [
    "Expect: 100-continue", "Connection: close", "Connection: keep-alive, Upgrade", "Upgrade: websocket",
    "Transfer-Encoding: gzip", "Content-Length: 7", "Content-Length: -1", "Origin: http://evil.example",
    "Host: evil.example", "Idempotency-Key: k", "X: " + "x" * 70_000, "Cookie: a=b", " folded: line",
    "no colon",
    "Authorization: Basic %%%", "Accept-Encoding: gzip", "Content-Encoding: gzip", "TE: trailers",
]  # fmt: skip
ALLOWED = {100, 200, 201, 204, 307, 400, 401, 403, 404, 405, 408, 409, 413, 422, 429, 431, 501, 505}
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


def http(folder: Path) -> Callable[[random.Random], None]:
    """Bytes at the socket: known statuses, nothing logged as an error, and a service that stays up."""
    from taggers.serve.service import new_service
    from tests.fuzz.targets import Finding

    service = new_service(prepared(folder)["serve"](folder / "journal"))
    port, errors = service._socket.getsockname()[1], Errors()
    logging.getLogger().addHandler(errors)
    logging.getLogger("structsvm.serve").propagate = True
    threading.Thread(target=service.run, daemon=True).start()
    n_cases = 0

    def case(rng: random.Random) -> None:
        nonlocal n_cases
        data = b"".join(
            request(rng, service.token) for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 5, 5, 20)))
        )
        if rng.random() < 0.5:
            data = mutated(rng, data)
        (folder / "input").write_bytes(data)
        answer = exchanged(rng, port, data)
        statuses = {int(status) for status in STATUS.findall(answer)}
        if not statuses <= ALLOWED:
            raise Finding(f"statuses {sorted(statuses - ALLOWED)}")
        if answer and not answer.startswith(b"HTTP/1.1 "):
            raise Finding(f"an answer begins with {answer[:40]!r}")
        if errors.lines:
            raise Finding(f"logged: {errors.lines.pop()[-250:]}")
        n_cases += 1
        if n_cases % 50 == 0:
            up = exchanged(rng, port, b"GET /health HTTP/1.1\r\nHost: probe\r\n\r\n", whole=True)
            if not up.endswith(b'{"status":"UP"}'):
                raise Finding(f"/health answers {up[:100]!r}")

    return case


class Errors(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record).replace("\n", " | "))


def request(rng: random.Random, token: str) -> bytes:
    """A request that is usually valid HTTP with a changed body."""
    if rng.random() < 0.2:
        path, body, method = rng.choice(GETS), b"", "GET"
    else:
        path, value = rng.choice(BODIES)
        for _ in range(rng.randrange(3)):
            value = changed_json(rng, value)
        value = changed_xml(rng, value)
        body, method = json.dumps(value).encode(), "POST"
        if rng.random() < 0.2:
            body = mutated(rng, body)
    if rng.random() < 0.1:
        method = rng.choice(METHODS)
    headers = ["Host: localhost", *rng.sample(HEADERS, rng.choice((0, 0, 0, 1, 2)))]
    prefix = f"/{token}"
    if rng.random() < 0.2:
        prefix = ""
        headers += [f"Authorization: Bearer {token}"] * (rng.random() < 0.7)
    framed = body
    if rng.random() < 0.3:
        headers.append("Transfer-Encoding: chunked")
        framed = chunked(rng, body)
    elif body or rng.random() < 0.2:
        headers.append(f"Content-Length: {len(body) + (rng.random() < 0.05)}")
    rng.shuffle(headers)
    version = rng.choice(("1.1",) * 8 + ("1.0", "2.0"))
    lines = [f"{method} {prefix}{path} HTTP/{version}", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + framed


def changed_xml(rng: random.Random, value: Any) -> Any:
    """A body whose documents have changed bytes, declarations or elements."""
    if not isinstance(value, dict):
        return value
    value = json.loads(json.dumps(value))
    several = value.get("documents")
    for document in [value.get("document"), *(several[:1] if isinstance(several, list) else [])]:
        if isinstance(document, dict) and isinstance(document.get("xmi"), str) and rng.random() < 0.5:
            text = document["xmi"]
            how = rng.randrange(4)
            if how == 0:
                text = mutated(rng, text.encode("utf-8", "replace")).decode("utf-8", "replace")
            elif how == 1:
                heads = (
                    '<?xml version="1.0" encoding="UTF-7"?>',
                    '<!DOCTYPE a [<!ENTITY e "x">]>',
                    "\ufeff",
                    " ",
                )
                text = "".join(rng.choices(heads, k=rng.randrange(1, 4))) + text
            elif how == 2:
                text = re.sub(
                    r'(begin|end|xmi:id|sofa)="\d+"',
                    lambda found: rng.choice(
                        (found[0], f'{found[1]}="{rng.randrange(40)}"', f'{found[1]}="-1"')
                    ),
                    text,
                )
            else:
                text = text.replace(
                    rng.choice(("Anna", "sings", "PER", "xmi:id", "</")),
                    rng.choice(("&e;", "\U0001f600", "")),
                )
            document["xmi"] = text
    return value


def chunked(rng: random.Random, body: bytes) -> bytes:
    """A body in chunks, with extensions and trailers now and then."""
    parts, at = [], 0
    while at < len(body):
        size = max(rng.choice((1, 7, 100, 5000)), len(body) // 500)
        part, at = body[at : at + size], at + size
        extension = rng.choice((b"",) * 8 + (b";a=b", b" ; x", b";" + b"y" * 20_000))
        parts.append(b"%x%s\r\n%s\r\n" % (len(part), extension, part))
    trailers = rng.choice((b"",) * 8 + (b"a: b\r\n", b"a: b\r\n" * 9000, b": \r\n"))
    return b"".join(parts) + rng.choice((b"0\r\n",) * 9 + (b"",)) + trailers + b"\r\n"


def exchanged(rng: random.Random, port: int, data: bytes, *, whole: bool = False) -> bytes:
    """Send bytes in pieces; what the service answers until it closes the connection, or the client does."""
    received = []
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw, contextlib.suppress(OSError):
        reader = threading.Thread(target=read, args=(raw, received), daemon=True)
        reader.start()
        with contextlib.suppress(OSError):
            while data:
                size = len(data) if whole else rng.choice((1, 10, 1000, len(data), len(data)))
                raw.sendall(data[:size])
                data = data[size:]
            if not whole and rng.random() < 0.05:
                return b"".join(received)  # the client leaves
            raw.shutdown(socket.SHUT_WR)
        reader.join(20)
        if reader.is_alive():
            raise TimeoutError("the service neither answers nor closes the connection")
    return b"".join(received)


def read(raw: socket.socket, received: list[bytes]) -> None:
    """Collect what arrives until the end of the connection."""
    with contextlib.suppress(OSError):
        while data := raw.recv(1 << 16):
            received.append(data)
