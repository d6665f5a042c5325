"""Checks a graph file: its environment is opened, its relations looked for, and every type makes a few questions."""

from __future__ import annotations

import asyncio
from pathlib import Path

from r_eval.analysis import metrics
from r_eval.checking.finding import Finding, counted
from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.plugins import unknown
from r_eval.tasks.graphs.file import GraphFile, read_graph_file
from r_eval.tasks.graphs.generate import generate
from r_eval.tasks.graphs.source import Source, source_of

TRIED = 10
"""Questions that each type is asked to make."""


def check_graph(path: Path) -> list[Finding]:
    """What is found in a graph file. No LLM is asked: where it names one, no question is made.

    Raises:
        UserError: The file cannot be read, its environment cannot be opened or offers no triples.
    """
    file = read_graph_file(path)
    _, source = source_of(file, path.parent)
    target, graph = str(path), source.graph
    strange = [relation for relation in file.graph.relations if relation not in graph.relation_of]
    findings = [
        Finding(
            target, target, "error", unknown("relation", relation, graph.relations), "mend its name, or leave it out"
        )
        for relation in strange
    ]
    silent = len(graph.relations) - len(file.graph.relations)
    if not strange and not file.graph.llms:
        with Sandbox() as sandbox:
            findings += [
                _made(file, type, source, sandbox, target) for type, share in file.graph.types.items() if share
            ]
    if silent and file.graph.llm is None:
        text = f"{counted(silent, 'relation')} of the graph's {len(graph.relations):,} have no words"
        findings.append(Finding(target, target, "note", text))
    return findings


def _made(file: GraphFile, type: str, source: Source, sandbox: Sandbox, target: str) -> Finding:
    """How many questions of a type come of it, and what keeps others away."""
    one = file.model_copy(update={"graph": file.graph.model_copy(update={"types": {type: 1}})})
    try:
        made = asyncio.run(generate(one, source, sandbox, TRIED, 0, metrics.get("token_f1")))
    except EnvironmentFailure as failure:
        raise UserError(f"{target}: the environment failed: {failure}") from None
    reasons = {r: n for r, n in made.dropped.items() if n and r != "relation without words"}
    dropped = ", ".join(f"{number:,} {reason}" for reason, number in reasons.items())
    text = f"type {type}: {counted(len(made.questions), 'question')} of {TRIED} made"
    text += f"; dropped: {dropped}" if dropped else ""
    if made.questions:
        return Finding(target, target, "note", text)
    return Finding(target, target, "error", text, "give more relations the words that it takes, or leave the type out")
