"""Code of other people in threads and loops of its own."""

from __future__ import annotations

import asyncio
import time

from r_eval.environments import Environment, query_api


def domain(kind: str, seconds: float) -> Environment:
    """An environment whose one async query API blocks its event loop for so long."""

    async def find(self: Environment) -> str:
        """Find."""
        time.sleep(seconds)
        return "Найроби"

    return type(kind, (Environment,), {"find": query_api(find), "__doc__": "People."})()  # type: ignore[no-any-return]


def test_an_api_that_blocks_its_event_loop_holds_up_no_other_environment() -> None:
    async def main() -> str:
        blocked = asyncio.create_task(domain("Blocked", 3.0).call("find", {}))
        await asyncio.sleep(0.1)
        found: str = await asyncio.wait_for(domain("Quick", 0.0).call("find", {}), 1.5)
        blocked.cancel()
        return found

    assert asyncio.run(main()) == "Найроби"
