"""Connections of the clients of the soak, and of its attacker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

TOKEN = "a-token-of-the-soak"


class Connection:
    """Posts JSON; opens the connection again if the service closed it to make room."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: Any, header: str = "") -> tuple[int, Any]:
        """Status and content of the answer; 0 and None if there was none, however often it was asked."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = (
            f"POST /{TOKEN}{path} HTTP/1.1\r\nHost: localhost\r\n{header}Content-Length: {len(data)}\r\n\r\n"
        )
        for _ in range(20):
            try:
                if self.streams is None:
                    self.streams = await asyncio.open_connection("127.0.0.1", self.port)
                reader, writer = self.streams
                writer.write(head.encode() + data)
                await writer.drain()
                found = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", found)
                content = await reader.readexactly(int(length[1]) if length else 0)
                if b"connection: close" in found:
                    self.close()
                return int(found.split()[1]), json.loads(content or b"null")
            except (OSError, asyncio.IncompleteReadError):
                self.close()
        return 0, None

    def close(self) -> None:
        """Close the connection at once."""
        if self.streams is not None:
            self.streams[1].transport.abort()
            self.streams = None


@contextlib.asynccontextmanager
async def opened(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that is closed at once in the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
