"""Measures how late a busy machine wakes a thread, so that a test of a time limit can allow for that."""

import time
from threading import Event, Thread

SLEEP = 0.02  # seconds


class Lateness:
    """While it is open, `worst` is the longest time in seconds by which a short sleep of a thread was exceeded."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._stop = Event()
        self._thread = Thread(target=self._measure, daemon=True)

    def __enter__(self) -> "Lateness":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _measure(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            time.sleep(SLEEP)
            self.worst = max(self.worst, time.monotonic() - began - SLEEP)
