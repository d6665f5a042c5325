"""Gives up on a server that has died, so that a run does not wait out the retries of every episode that is left.

A server counts as dead once so many attempts in a row have failed for want of any sound answer, over so many seconds.
From then on attempts fail at once, but for one now and then that tries whether it is back.
"""

from __future__ import annotations

import time

FAILURES = 8
SECONDS = 30.0
BETWEEN_PROBES = 30.0


class Breaker:
    """Counts one server's failures in a row."""

    def __init__(self) -> None:
        self._failures = 0
        self._since = 0.0
        self._next_probe = 0.0

    @property
    def dead_for(self) -> float:
        """Seconds since the first failure of a server that counts as dead; 0 for one that does not."""
        seconds = time.monotonic() - self._since
        return seconds if self._failures >= FAILURES and seconds >= SECONDS else 0.0

    def allows(self) -> bool:
        """Whether an attempt may be made now."""
        if not self.dead_for:
            return True
        now = time.monotonic()
        if now < self._next_probe:
            return False
        self._next_probe = now + BETWEEN_PROBES
        return True

    def answered(self) -> None:
        """The server gave a sound answer, be it a refusal."""
        self._failures = 0

    def failed(self) -> None:
        """An attempt got no sound answer."""
        if self._failures == 0:
            self._since = time.monotonic()
        self._failures += 1
