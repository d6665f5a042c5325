"""Seeds depend on the run's seed, the question, the epoch and the stream, and on nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from r_eval import Grid
from r_eval.api import arun
from r_eval.seeds import Seeds
from tests.chat_server import Server, good


def test_each_part_of_a_seed_changes_it() -> None:
    ways = [Seeds(0, "q", 0).of("a"), Seeds(1, "q", 0).of("a"), Seeds(0, "p", 0).of("a"), Seeds(0, "q", 1).of("a")]
    assert len({*ways, Seeds(0, "q", 0).of("b")}) == 5


def test_a_seed_is_the_same_on_every_machine() -> None:
    assert Seeds(7, "capital-of-kenya", 2).of("reply 1") == 710187287


def seeds_sent(folder: Path, **llm: Any) -> list[list[int | None]]:
    """The seeds that a server is sent for each question; two epochs, two workflows."""
    server = Server(good("Finish[x]"))

    async def main() -> None:
        runner = await server.start()
        entry = {"llm": "openai/some-model", "base_url": server.url, **llm}
        same = {"tasks": ["wiki/high-freq"], "samples": 4, "epochs": 2, "shots": 0, "limits": {"steps": 1}}
        workflows = [{"workflow": "react", "name": "one"}, {"workflow": "react", "name": "two"}]
        try:
            await arun(Grid(llms=[entry], workflows=workflows, **same), folder)
        finally:
            await runner.cleanup()

    asyncio.run(main())
    sent: dict[str, list[int | None]] = {}
    for body in server.bodies:
        sent.setdefault(str(body["messages"]).partition("Question: ")[2], []).append(body.get("seed"))
    return list(sent.values())


def test_systems_draw_the_same_for_a_question_and_other_epochs_another(tmp_path: Path) -> None:
    sent = seeds_sent(tmp_path, temperature=0.7)
    assert [(len(seeds), len(set(seeds))) for seeds in sent] == [(4, 2)] * 4


def test_a_greedy_llm_is_sent_no_seed(tmp_path: Path) -> None:
    assert {seed for seeds in seeds_sent(tmp_path) for seed in seeds} == {None}
