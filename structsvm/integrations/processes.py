"""Run a service in several processes that share its port."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

log = logging.getLogger("structsvm.serve")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SOON = 1.0  # seconds; a process that ends earlier would do so again


def run_in_processes(n: int, run: Callable[[], None], stop: Callable[[], None]) -> None:
    """Fork n processes that call `run`, until SIGINT or SIGTERM; replace those that end by themselves.

    stop: ends `run` from another thread; each process calls it when this one is killed.
    """
    if not hasattr(os, "fork"):
        raise ValueError("--workers needs a system with fork; start one service for each port instead")
    begun: dict[int, float] = {}
    stopping = False
    alive, held = os.pipe()  # the processes read the end of `alive` when this one ends

    def end(number: int, frame: Any) -> None:
        nonlocal stopping
        stopping = True
        for process in list(begun):
            os.kill(process, signal.SIGTERM)

    def start() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until `end` knows the process
        process = os.fork()
        if not process:
            os.close(held)
            _work(run, stop, alive)
        begun[process] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if stopping:
            os.kill(process, signal.SIGTERM)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    failed = False
    try:
        for _ in range(n):
            start()
        while begun:
            process, status = os.wait()
            lived = time.monotonic() - begun.pop(process)
            if stopping:
                continue
            log.error("worker %d ended with status %d", process, os.waitstatus_to_exitcode(status))
            if lived < SOON:
                failed = True
                end(signal.SIGTERM, None)
            else:
                start()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(alive)
        os.close(held)
    if failed:
        raise OSError("a worker ended as soon as it was started; see the log")


def _work(run: Callable[[], None], stop: Callable[[], None], alive: int) -> None:
    """The life of a forked process. Ctrl-C reaches it through the first process, not from the terminal."""
    code = 1

    def stop_with_the_first() -> None:
        os.read(alive, 1)
        stop()

    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        threading.Thread(target=stop_with_the_first, daemon=True).start()
        run()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
