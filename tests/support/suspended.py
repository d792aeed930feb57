"""Suspends a process for a test."""

import os
import signal
import time

import psutil

SECONDS = 30.0


def suspend(pid: int) -> None:
    """Suspends a process, and waits until all its threads stand still: on a busy machine they run on for a moment."""
    os.kill(pid, signal.SIGSTOP)
    process, until = psutil.Process(pid), time.monotonic() + SECONDS
    while not _all_stopped(process):
        assert time.monotonic() < until, f"process {pid} still ran {SECONDS:.0f} s after SIGSTOP"
        time.sleep(0.001)


def _all_stopped(process: psutil.Process) -> bool:
    threads = [psutil.Process(thread.id) for thread in process.threads()] if psutil.LINUX else [process]
    return all(thread.status() == psutil.STATUS_STOPPED for thread in threads)
