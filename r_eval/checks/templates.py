"""Checks files from which questions are made: every template of a template file, every type of a graph file, and a file
of placeholders make a few.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from r_eval.analysis import metrics
from r_eval.checks.environments import is_foreign
from r_eval.checks.finding import Finding, Severity, counted, of_user_error
from r_eval.checks.golds import judged_by_containment
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.opening import located
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.isolation import describe
from r_eval.plugins import unknown
from r_eval.tasks.base import open_environment
from r_eval.tasks.templates import Generated, KnownRecords, Template, TemplateFile, generate, read_templates
from r_eval.tasks.templates.schema import template_places

TRIED = 10
"""Questions that each template, and each type of a graph, is asked to make."""
MISTAKES = ("syntax", "unknown_api", "bad_arguments", "time", "memory", "calls", "crash")
"""Failures that no record can be the reason of; the others may be a template's way to leave records out."""
TODO = {
    "ambiguous": "say in the question what makes its answer the only one",
    "empty answer": "leave such records out with where:",
    "empty slot": "leave such records out with where:",
    "answer in the question": "ask for what the question does not say, or set choice: true",
    "no record": "let the environment's records() give that kind, or name another",
    "no field": "name a field that every record of the kind has",
}


def check_templates(path: Path, call: bool = False) -> list[Finding]:
    """What is found in a template file.

    Args:
        call: Whether programs also run over what is not ours to change, such as another's server.

    Raises:
        UserError: The file cannot be read, or its environment cannot be opened.
    """
    file = read_templates(path)
    environment = open_environment(located(file.environment, path.parent))
    if is_foreign(environment) and not call:
        return [Finding(str(path), str(path), "note", "no question was made: that calls what is not yours", "--call")]
    findings: list[Finding] = []
    records = KnownRecords(environment, file.records)
    with Sandbox() as sandbox:
        for template, place in zip(file.templates, template_places(path, file), strict=True):
            found = asyncio.run(_of_template(template, environment, sandbox, records))
            findings += [
                Finding(str(path), place, severity, f"template '{template.id}': {what}", todo)
                for severity, what, todo in found
            ]
    return findings


Found = tuple[Severity, str, str]
"""Severity, what, and what to do about it."""


async def _of_template(
    template: Template, environment: Environment, sandbox: Sandbox, records: KnownRecords
) -> list[Found]:
    try:
        single = TemplateFile(environment="", templates=[template])
        made = await generate(single, environment, sandbox, TRIED, 0, known=records)
    except UserError as error:
        text = str(error).removeprefix(f"templates.{template.id}: ")
        todo = next((todo for part, todo in TODO.items() if part in text), "mend the template")
        return [("error", of_user_error("", UserError(text)).what, todo)]
    except EnvironmentFailure as failure:
        return [("error", f"the environment failed: {failure}", "mend the query API")]
    except Exception as error:  # noqa: BLE001 - records() is the user's code and may raise anything
        return [("error", f"filling it fails: {describe(error)}", "mend the environment's records()")]
    found = [
        _dropped(made, r) for r, number in made.dropped.items() if number and not (r == "where" and made.questions)
    ]
    if not made.questions:
        text = "it gives no question" + ("" if found else ": there is no such record")
        found.append(("error", text, "see what drops them, or take other records"))
    elif not all(map(judged_by_containment, made.questions)):
        text = "an answer is in any text by chance (yes/no, a count), and the template names no evidence"
        found.append(("warning", text, "name in evidence: what an observation must hold"))
    return [*found, ("note", f"{counted(len(made.questions), 'question')} of {TRIED} made", "")]


def _dropped(made: Generated, reason: str) -> Found:
    """What is said of questions that were dropped for one reason."""
    number = made.dropped[reason]
    severity: Severity = "warning" if number > len(made.questions) else "note"
    kind, _, cause = reason.partition(": ")
    if kind == "where":
        return "note", f"where leaves {counted(number, 'record')} out", ""
    if kind == "program":
        text = f"the program fails for {counted(number, 'question')} ({cause}), such as: {made.examples[reason]}"
        if cause in MISTAKES or not made.questions:
            return "error", text, "mend the program"
        return severity, text, "mend the program, unless it is meant to leave them out"
    return severity, f"{counted(number, 'question')} dropped: {reason}", TODO.get(kind, "mend the template")


def check_graph(path: Path) -> list[Finding]:
    """What is found in a graph file. No LLM is asked: where it names one, no question is made.

    Raises:
        UserError: The file cannot be read, its environment cannot be opened or fails, or offers no triples.
    """
    from r_eval.tasks.graphs.graph_file import read_graph_file
    from r_eval.tasks.graphs.pipeline import generate as of_graph
    from r_eval.tasks.graphs.source import source_of

    file, target = read_graph_file(path), str(path)
    _, source = source_of(file, path.parent)
    strange = [relation for relation in file.graph.relations if relation not in source.graph.by_relation]
    if strange or file.graph.llms:
        todo = "mend its name, or leave it out"
        whats = [unknown("relation", relation, source.graph.by_relation) for relation in strange]
        return [Finding(target, target, "error", what, todo) for what in whats]
    findings = []
    for kind in file.graph.types:
        one = file.model_copy(update={"graph": file.graph.model_copy(update={"types": [kind]})})
        try:
            with Sandbox() as sandbox:
                made = asyncio.run(of_graph(one, source, sandbox, TRIED, 0, metrics.get("token_f1")))
        except EnvironmentFailure as failure:
            raise UserError(f"{target}: the environment failed: {failure}") from None
        text = f"type {kind}: {counted(len(made.questions), 'question')} of {TRIED} made"
        text += "".join(f"; dropped: {n:,} {reason}" for reason, n in made.dropped.items() if n)
        todo = "" if made.questions else "give more relations the words that it takes, or leave the type out"
        findings.append(Finding(target, target, "note" if made.questions else "error", text, todo))
    return findings


def check_world(path: Path) -> list[Finding]:
    """What is found in a file of facts from which records with placeholders are made.

    Raises:
        UserError: It cannot be read, or no record comes out of it.
    """
    from r_eval.tasks.placeholders.making import made
    from r_eval.tasks.placeholders.world import read_world

    kinds = Counter(record["id"].rpartition("-")[0] for record in made(read_world(path)))
    parts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return [Finding(str(path), str(path), "note", f"{counted(kinds.total(), 'record')} made: {parts}")]
