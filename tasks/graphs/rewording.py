"""An LLM puts a subgraph into words. The answer is never its own: it comes from the graph."""

from __future__ import annotations

from r_eval.llms.json_text import json_values
from r_eval.tasks.graphs.asking import Asking
from r_eval.tasks.llm_client import LLMClient, one_line, prompt

LONGEST = 400
"""Characters of a question."""

KINDS = {
    "simple": "It asks for one thing.",
    "set": "It asks for all the things of the answer at once, and says that there are several.",
    "multi-hop": "It asks for the answer by way of a thing between, which it describes without its name.",
    "conditional": "It describes the answer by both facts together.",
    "comparison": "It asks which of the named has the {size} number, and names both.",
}


async def reworded(asking: Asking, speaker: LLMClient) -> str | None:
    """The question that an LLM wrote; None where its reply holds none."""
    subgraph = asking.subgraph
    text = prompt(
        "word",
        facts=facts(asking),
        named=" and ".join(asking.named),
        answer="; ".join(asking.answers),
        hidden=f", nor name {asking.bridge}" if asking.bridge else "",
        kind=KINDS[subgraph.type].format(size="larger" if asking.larger else "smaller"),
    )
    return question_in(await speaker.complete(text))


def facts(asking: Asking) -> str:
    """The triples, one a line."""
    return "\n".join(f"({s} | {r} | {o})" for s, r, o in asking.subgraph.triples)


def question_in(reply: str) -> str | None:
    """The question in a reply: under the key "question", in the first of several objects; else a lone line with "?"."""
    data = [found.value for found in json_values(reply)]
    found = [value for entry in data for value in (entry if isinstance(entry, list) else [entry])]
    for value in found:
        if isinstance(value, dict) and isinstance(value.get("question"), str):
            return one_line(value["question"], LONGEST)
    return one_line(reply, LONGEST) if not found and reply.endswith(("?", "？")) else None
