"""Words a question, from the words of its relations or by an LLM. The answer is always the graph's."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from string import Template
from typing import Any

import yaml

from r_eval.languages import recognised
from r_eval.tasks.graphs.ask import Hop, QuestionPlan
from r_eval.tasks.graphs.graph_file import Frames, RelationWords
from r_eval.tasks.llm_client import LLMClient, objects_in, one_line, prompt_file

LONGEST = 400
"""Characters of a question."""


def word(plan: QuestionPlan, words: Mapping[str, RelationWords], frames: Frames) -> str | None:
    """The question in the words of a file; None if a relation lacks the required words."""
    hops = [hop for path in plan.paths for hop in path.hops]
    if any(hop.relation not in words for hop in hops):
        return None
    phrases = words[hops[-1].relation]
    if plan.subgraph.type == "comparison":
        text = (phrases.larger if plan.larger else phrases.smaller) if hops[0].relation == hops[1].relation else None
        first, second = plan.entities
        return None if text is None else text.format(first=first, second=second)
    if plan.subgraph.type == "conditional":
        clauses = [_description(hop, path.start, words) for hop, path in zip(hops, plan.paths, strict=True)]
        if clauses[0] is None or clauses[1] is None:
            return None
        return frames.conditional.format(kind=clauses[0][0], first=clauses[0][1], second=clauses[1][1])
    name = plan.entities[0]
    for hop in hops[:-1]:
        clause = _description(hop, name, words)
        if clause is None:
            return None
        name = frames.bridge.format(kind=clause[0], clause=clause[1])
    last = hops[-1]
    one, several = (phrases.forward, phrases.forward_all) if last.forward else (phrases.backward, phrases.backward_all)
    text = (several or one) if plan.subgraph.type == "set" else one
    return None if text is None else text.format(**{_slot(last): name})


def _description(hop: Hop, name: str, words: Mapping[str, RelationWords]) -> tuple[str, str] | None:
    """The kind of thing at the end of a hop from a name, and the clause that describes it."""
    phrases = words[hop.relation]
    noun = phrases.object if hop.forward else phrases.subject
    return None if noun is None else (noun.kind, noun.clause.format(**{_slot(hop): name}))


def _slot(hop: Hop) -> str:
    """The known end of a hop's relation."""
    return "subject" if hop.forward else "object"


async def word_by_llm(plan: QuestionPlan, client: LLMClient) -> str | None:
    """The question of an LLM in the language of the facts; None if its reply contains none."""
    parts = prompt_parts("word", recognised(facts(plan)))
    type = plan.subgraph.type
    kind = ("larger" if plan.larger else "smaller") if type == "comparison" else type
    text = Template(parts["prompt"]).substitute(
        facts=facts(plan),
        named="; ".join(plan.entities),
        answer="; ".join(plan.answers),
        hidden=Template(parts["hidden"]).substitute(bridge=plan.bridge) if plan.bridge else "",
        kind=parts["kinds"][kind],
    )
    return question_in(await client.complete(text.strip()))


@functools.cache
def prompt_parts(name: str, language: str) -> dict[str, Any]:
    """The parts of a YAML prompt in a language."""
    parts: dict[str, Any] = yaml.safe_load(prompt_file(f"{name}.{language}.yaml"))
    return parts


def facts(plan: QuestionPlan) -> str:
    """The triples, one per line."""
    return "\n".join(f"({s} | {r} | {o})" for s, r, o in plan.subgraph.triples)


def question_in(reply: str) -> str | None:
    """The question in a reply: under the key "question" of the first object that has it, or a single line with "?"."""
    for value in objects_in(reply):
        if isinstance(value.get("question"), str):
            return one_line(value["question"], LONGEST)
    return one_line(reply, LONGEST) if reply.endswith(("?", "？")) else None
