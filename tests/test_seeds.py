"""Seeds depend on the run's seed, the question, the epoch and the stream, and on nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from aiohttp import web

from r_eval import Grid
from r_eval.api import arun
from r_eval.seeds import Seeds


def test_each_part_of_a_seed_changes_it() -> None:
    ways = [Seeds(0, "q", 0).of("a"), Seeds(1, "q", 0).of("a"), Seeds(0, "p", 0).of("a"), Seeds(0, "q", 1).of("a")]
    assert len({*ways, Seeds(0, "q", 0).of("b")}) == 5


def test_a_seed_is_the_same_on_every_machine() -> None:
    assert Seeds(7, "capital-of-kenya", 2).of("reply 1") == 710187287


def seeds_sent(folder: Path, connections: int, **llm: Any) -> dict[str, list[int | None]]:
    """The seeds that a server is sent, by the question; two epochs, two workflows."""
    sent: dict[str, list[int | None]] = {}

    async def chat(request: web.Request) -> web.Response:
        body = await request.json()
        asked = json.dumps(body["messages"][-1])
        if "tests the connection" not in json.dumps(body["messages"]):
            sent.setdefault(asked.partition("Question: ")[2], []).append(body.get("seed"))
        message = {"message": {"content": "Finish[x]"}, "finish_reason": "stop"}
        return web.json_response({"choices": [message], "usage": {"prompt_tokens": 10, "completion_tokens": 3}})

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        entry = {"llm": "openai/some-model", "base_url": f"http://127.0.0.1:{runner.addresses[0][1]}/v1", **llm}
        same = {"tasks": ["wiki/high-freq"], "samples": 4, "epochs": 2, "shots": 0, "limits": {"steps": 1}}
        workflows = [{"workflow": "react", "name": "one"}, {"workflow": "react", "name": "two"}]
        try:
            await arun(Grid(llms=[entry], workflows=workflows, **same), folder, connections=connections)
        finally:
            await runner.cleanup()

    asyncio.run(main())
    return {question: sorted(seeds, key=str) for question, seeds in sorted(sent.items())}


def test_systems_draw_the_same_for_a_question_and_other_epochs_another(tmp_path: Path) -> None:
    sent = seeds_sent(tmp_path, 1, temperature=0.7)
    assert len(sent) == 4
    assert all(len(seeds) == 4 and len(set(seeds)) == 2 for seeds in sent.values())


def test_a_greedy_llm_is_sent_no_seed(tmp_path: Path) -> None:
    assert {seed for seeds in seeds_sent(tmp_path, 1).values() for seed in seeds} == {None}
