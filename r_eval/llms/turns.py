"""One after another: what many replies that arrive together set off is done in turns of the event loop.

An event loop carries out everything that is ready before it looks at the network again, and a request goes out in the
turn after the one that made it (with Python 3.11). Where the replies of 200 connections came in one turn, all 200 next
requests would wait until the last reply is worked up: the connections would march in step, and idle together.
"""

from __future__ import annotations

import asyncio
import collections


class OneByOne:
    """Lets those who wait go on one at a time, in their order, with a turn of the event loop for each."""

    def __init__(self) -> None:
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()

    async def turn(self) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._next, loop)
        self._waiting.append(mine)
        await mine

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            first = self._waiting[0]
            if not first.done():
                first.set_result(None)
                loop.call_soon(self._next, loop)
                return
            self._waiting.popleft()
