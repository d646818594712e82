"""Counters and durations in the text format of Prometheus."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import accumulate

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from structsvm.files import DataError

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)  # seconds
Endpoint = Callable[[Request], Awaitable[Response]]


class Metrics:
    """Counts requests, their status and duration by route, and the events passed to `count`.

    by_process: whether each line names the process, because several of them share a port.
    """

    def __init__(self, *, by_process: bool = False) -> None:
        self._by_process = by_process
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def count(self, name: str, n: int) -> None:
        """Add n to a counter."""
        self._counts[name] += n

    def measured(self, route: str, endpoint: Endpoint) -> Endpoint:
        """The endpoint, with its requests counted and timed."""
        buckets = self._buckets[route] = [0] * (len(BUCKETS) + 1)

        async def measure(request: Request) -> Response:
            start, status = time.perf_counter(), 500
            try:
                response = await endpoint(request)
                status = response.status_code
                return response
            except DataError as error:
                status = getattr(error, "status", 400)
                raise
            except HTTPException as error:
                status = error.status_code
                raise
            finally:
                seconds = time.perf_counter() - start
                buckets[bisect_left(BUCKETS, seconds)] += 1
                self._seconds[route] += seconds  # type: ignore[assignment]
                self._requests[route, status] += 1

        return measure

    def text(self, **gauges: float) -> str:
        """All figures, one per line."""
        lines = ["# TYPE structsvm_requests_total counter"]
        for (route, status), n in sorted(self._requests.items()):
            lines.append(f'structsvm_requests_total{{route="{route}",status="{status}"}} {n}')
        lines.append("# TYPE structsvm_request_seconds histogram")
        for route, buckets in self._buckets.items():
            if not any(buckets):
                continue
            for bound, n in zip([*map(str, BUCKETS), "+Inf"], accumulate(buckets), strict=True):
                lines.append(f'structsvm_request_seconds_bucket{{route="{route}",le="{bound}"}} {n}')
            lines.append(f'structsvm_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'structsvm_request_seconds_count{{route="{route}"}} {sum(buckets)}')
        for name, n in sorted(self._counts.items()):
            lines += [f"# TYPE structsvm_{name}_total counter", f"structsvm_{name}_total {n}"]
        for name, value in gauges.items():
            lines += [f"# TYPE structsvm_{name} gauge", f"structsvm_{name} {value}"]
        if self._by_process:
            lines = [line if line[0] == "#" else _of_process(line) for line in lines]
        return "\n".join(lines) + "\n"


def _of_process(line: str) -> str:
    """A line of the format with the label `process`."""
    name, _, value = line.rpartition(" ")
    name, _, labels = name.rstrip("}").partition("{")
    labels = ",".join(filter(None, (labels, f'process="{os.getpid()}"')))
    return f"{name}{{{labels}}} {value}"
