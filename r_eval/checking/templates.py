"""Checks a template file: its environment is opened, and every template makes a few questions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import yaml

from r_eval.checking.finding import Finding, Severity, counted, of_user_error
from r_eval.checking.questions import judged_by_containment
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.opening import located
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.tasks.base import open_environment
from r_eval.tasks.templates import Generated, KnownRecords, Template, TemplateFile, generate, read_templates

TRIED = 10
"""Questions that each template is asked to make."""
MISTAKES = ("syntax", "unknown_api", "bad_arguments", "time", "memory", "calls", "crash")
"""Failures that no record can be the reason of; the others may be a template's way to leave records out."""


def check_templates(path: Path) -> list[Finding]:
    """What is found in a template file.

    Raises:
        UserError: The file cannot be read, or its environment cannot be opened.
    """
    file = read_templates(path)
    environment = open_environment(located(file.environment, path.parent))
    lines = _lines(path)
    findings = []
    records = KnownRecords(environment)
    with Sandbox() as sandbox:
        for template in file.templates:
            place = f"{path}:{lines[template.id]}" if template.id in lines else str(path)
            findings += asyncio.run(_Checked(str(path), place, template, environment, sandbox, records).findings())
    return findings


class _Checked:
    """One template of a file."""

    def __init__(
        self,
        target: str,
        place: str,
        template: Template,
        environment: Environment,
        sandbox: Sandbox,
        records: KnownRecords,
    ) -> None:
        self.target, self.place, self.template = target, place, template
        self.environment, self.sandbox, self.records = environment, sandbox, records

    async def findings(self) -> list[Finding]:
        template = self.template
        try:
            single = TemplateFile(environment="", languages=template.languages, templates=[template])
            made = await generate(single, self.environment, self.sandbox, TRIED, 0, known=self.records)
        except UserError as error:
            return [self._unusable(error)]
        except EnvironmentFailure as failure:
            return [self._finding("error", f"the environment failed: {failure}", "mend the query API")]
        except Exception as error:  # noqa: BLE001 - records() is the user's code and may raise anything
            text = f"filling it fails: {type(error).__name__}: {error}"
            return [self._finding("error", text, "mend the environment's records()")]
        reasons = [r for r, number in made.dropped.items() if number and not (r == "where" and made.questions)]
        findings = [self._dropped(made, reason) for reason in reasons]
        if not made.questions:
            text = "it gives no question" + ("" if findings else ": there is no such record")
            findings.append(self._finding("error", text, "see what drops them, or take other records"))
        elif not all(judged_by_containment(q) for q in made.questions):
            text = "an answer is in any text by chance (yes/no, a count), and the template names no evidence"
            todo = "name in evidence: what an observation must hold, or response types stay undecided"
            findings.append(self._finding("warning", text, todo))
        findings.append(self._finding("note", f"{counted(len(made.questions), 'question')} of {TRIED} made"))
        return findings

    def _finding(self, severity: Severity, what: str, todo: str = "") -> Finding:
        return Finding(self.target, self.place, severity, f"template '{self.template.id}': {what}", todo)

    def _unusable(self, error: UserError) -> Finding:
        text = str(error).removeprefix(f"templates.{self.template.id}: ")
        if "no record" in text:
            return self._finding("error", text, "let the environment's records() give that kind, or name another")
        if "no field" in text:
            return self._finding("error", text, "name a field that every record of the kind has")
        return self._finding("error", of_user_error(self.target, error).what, "mend the template")

    def _dropped(self, made: Generated, reason: str) -> Finding:
        """What is said of questions that were dropped for one reason."""
        number = made.dropped[reason]
        kind, _, cause = reason.partition(": ")
        if kind == "where":
            return self._finding("note", f"where leaves {counted(number, 'record')} out")
        if kind == "program":
            text = f"the program fails for {counted(number, 'question')} ({cause}), such as: {made.examples[reason]}"
            mistaken = cause in MISTAKES or not made.questions
            todo = "mend the program" if mistaken else "mend the program, unless it is meant to leave them out"
            return self._finding("error" if mistaken else self._severity(made, number), text, todo)
        todo = {
            "ambiguous": "say in the question what makes its answer the only one",
            "empty answer": "leave such records out with where:",
            "empty slot": "leave such records out with where:",
            "answer in the question": "ask for what the question does not say, or set choice: true",
        }.get(kind, "mend the template")
        return self._finding(self._severity(made, number), f"{counted(number, 'question')} dropped: {reason}", todo)

    @staticmethod
    def _severity(made: Generated, number: int) -> Severity:
        return "warning" if number > len(made.questions) else "note"


def _lines(path: Path) -> dict[str, int]:
    """The line in which each template begins, by its id."""
    found: dict[str, int] = {}

    def visit(node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == "id" and isinstance(value, yaml.ScalarNode):
                    found.setdefault(value.value, value.start_mark.line + 1)
                visit(value)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                visit(item)

    root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    if root is not None:
        visit(root)
    return found
