"""Checks questions: their form, duplicates, golds that nothing can match or judge, answers that the question itself
contains, and what the gold programs give over the environment. Questions with the same problem are one finding.
"""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from r_eval.analysis import metrics
from r_eval.analysis.metrics.literals import gold_values
from r_eval.analysis.metrics.normalise import tokens
from r_eval.analysis.response_types import Observed, Response, classify
from r_eval.analysis.warnings import counted
from r_eval.checks.environments import is_foreign
from r_eval.checks.finding import Finding, Severity, relative_path
from r_eval.checks.shortcuts import shortcuts
from r_eval.environments.base import Environment
from r_eval.environments.opening import located
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import clip
from r_eval.event_loops import in_event_loop
from r_eval.files import is_file, read_text
from r_eval.records import SCHEMA, Episode, Outcome, Question, Step
from r_eval.tasks.base import DEFAULT_METRIC, open_environment
from r_eval.tasks.questions import folded, read_questions
from r_eval.tasks.seasons import read_season
from r_eval.tasks.solving import solve

SHUFFLE = "shuffle options, and give questions of one form different answers: see docs/questions.md"
NAMED = 3
"""Questions that a finding names."""
PASSAGE = 60
"""Words of a question from which on it is taken to bring a text along."""
OR = re.compile(r"\b(?:or|oder|ou|или)\b|还是|或", re.IGNORECASE)
AND = re.compile(r"\b(?:of|between|among|both)\b.{1,300}\b(?:and|und|et|и)\b", re.IGNORECASE | re.DOTALL)
SEPARATORS = ",;\n|、，；"
Over = tuple[str, Mapping[str, Any]]
"""An environment's name and settings."""
PROGRAM_FAULTS = {
    "a program that fails": "fix the program or leave the question out: no demonstration can show how it is solved",
    "a program that gives another answer": "make the gold what the program gives, or fix the program",
    "evidence that is in none of the program's observations": "quote texts that the query APIs return",
    "an answer that is in none of the program's observations": "list in evidence what the answer is computed from",
}
"""What running programs shows, and what to do about it."""


class QuestionProblem(NamedTuple):
    """A problem of some questions; `what` follows "3 questions (a, b, c) with "."""

    severity: Severity
    what: str
    todo: str
    questions: Sequence[Question]

    def finding(self, target: str, file: str, lines: Mapping[str, int]) -> Finding:
        """At the line of the first question."""
        names = [*(q.id for q in self.questions[:NAMED]), *(["..."] if len(self.questions) > NAMED else [])]
        text = f"{counted(len(self.questions), 'question')} ({', '.join(names)}) with {self.what}"
        return Finding(target, f"{file}:{lines[self.questions[0].id]}", self.severity, text, self.todo)


def check_questions(
    path: Path, over: Over | None = None, call: bool = False, demonstrations: bool = False
) -> list[Finding]:
    """What is found in a question file.

    Args:
        over: The environment over which its programs run; None takes that of its season, if it has one.
        call: Whether programs also run over what is not ours to change, such as another's server.
        demonstrations: Whether its questions are shown, with the comments of their programs as thoughts.

    Raises:
        UserError: It cannot be read, or the environment cannot be opened; names the line.
    """
    questions, season, known = read_questions(path), read_season(path), over or environment_for(path)
    texts = read_text(path, "question file").split("\n")
    lines = dict(zip((q.id for q in questions), (n for n, text in enumerate(texts, 1) if text.strip()), strict=True))
    target, place = str(path), relative_path(path)
    groups = form(questions)
    if demonstrations:
        silent = [q for q in questions if q.program and "#" not in q.program]
        todo = "explain each call in a comment: comments are the reasoning of demonstrations"
        groups.append(QuestionProblem("note", "a program without comments", todo, silent))
    levels = sorted(collections.Counter(q.level for q in questions).items())
    notes = [(f"season {season.version} over {season.environment or 'triples'}", "")] if season else []
    notes.append((f"{counted(len(questions), 'question')}: {', '.join(f'{n} {level}' for level, n in levels)}", ""))
    environment = open_environment(*known) if known else None
    if environment is not None and (call or not is_foreign(environment)):
        with Sandbox() as sandbox:
            groups += check_programs(questions, environment, sandbox)
    elif any(parses(q.program) for q in questions):
        why = "its environment is unknown or outside its folder", "name it with --environment"
        if environment is not None:
            why = "they call external tools or services", "add --call to run them"
        notes.append((f"its programs were not run: {why[0]}", why[1]))
    return [
        *(one.finding(target, place, lines) for one in groups if one.questions),
        *shortcut_findings(target, place, questions),
        *(Finding(target, place, "note", *note) for note in notes),
    ]


def shortcut_findings(target: str, place: str, questions: Sequence[Question]) -> list[Finding]:
    """What gives the answers of questions away."""
    return [
        Finding(target, place, "warning", one.text(), SHUFFLE) for one in shortcuts({target: questions}) if one.found
    ]


def form(questions: Sequence[Question]) -> list[QuestionProblem]:
    """What can be seen without running a program."""
    same, other = _repeated(questions)
    broken = [q for q in questions if q.program and not parses(q.program)]
    bare = [q for q in questions if not q.program]
    unjudged = [q for q in questions if not judged_by_containment(q)]
    leak, only = "an answer that the question contains", "make the question unambiguous"
    why = "without it the oracle gives up and it cannot be a demonstration"
    chance = "a gold that occurs in any text (yes/no, a count) or is empty or long, and no evidence"
    evidence = "list in evidence what an observation must contain, otherwise the response type is undecided"
    choice = "ask without naming it, or offer a choice (A or B) that it is one of"
    return [
        QuestionProblem("error", "the text of an earlier question, with other answers", only, other),
        QuestionProblem("warning", "the text and answers of an earlier question", "leave it out", same),
        QuestionProblem(
            "error", "a program that is not Python", "fix it: the oracle and demonstrations run it", broken
        ),
        QuestionProblem("warning", "no program", f"give one where you can: {why}", bare),
        QuestionProblem("warning", chance, evidence, unjudged),
        QuestionProblem("warning", leak, choice, [q for q in questions if leaked(q)]),
    ]


def _repeated(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Questions whose text an earlier one has, over the same documents: with the same answers, and with others."""
    first: dict[tuple[str, ...], Question] = {}
    found: tuple[list[Question], list[Question]] = ([], [])
    for question in questions:
        earlier = first.setdefault((folded(question.question), *(d.text for d in question.context)), question)
        if earlier is not question:
            found[set(earlier.answers) != set(question.answers)].append(question)
    return found


def parses(program: str | None) -> bool:
    """Whether there is a program and it is Python."""
    try:
        return bool(program and ast.parse(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def check_programs(questions: Sequence[Question], environment: Environment, sandbox: Sandbox) -> list[QuestionProblem]:
    """What gold programs give over an environment; those that are no Python are left out."""
    score = metrics.get(DEFAULT_METRIC)
    found: list[list[tuple[Question, str]]] = [[], [], [], []]
    failed, other, missing, unseen = found
    for s in in_event_loop(solve([q for q in questions if parses(q.program)], environment, sandbox)):
        question, golds = s.question, " or ".join(s.question.answers)
        if s.error:
            failed.append((question, s.error))
            continue
        is_right = s.is_right or score(s.answer, question.answers) == 1
        if not is_right:
            other.append((question, f"{s.answer} in place of {golds}"))
        seen = response(s.steps, question, 1.0, DEFAULT_METRIC)
        if not (seen.supported or seen.undecided):
            if question.evidence:
                missing.append((question, ", ".join(seen.missing)))
            elif is_right:
                unseen.append((question, golds))
    groups = []
    for (what, todo), some in zip(PROGRAM_FAULTS.items(), found, strict=True):
        if some:
            of = f"{some[0][0].id}: " if len(some) > 1 else ""
            text = f"{what} ({of}{clip(' '.join(some[0][1].split()), 120)})"
            groups.append(QuestionProblem("error", text, todo, [question for question, _ in some]))
    return groups


def environment_for(path: Path) -> Over | None:
    """Name and settings of the environment that a question file was made for; None where its season does not say it.

    A season comes with questions, which are data: it may name what is installed and what lies in its own folder.
    Another module or file, a command or an address is for a person to name.
    """
    season = read_season(path)
    if season is None:
        return None
    name = season.environment
    where = name if name.endswith(".py") else name.rpartition(":")[0]
    file, folder = (path.parent / where).resolve(), path.parent.resolve()
    near = file.suffix == ".py" and is_file(file) and file.is_relative_to(folder) if where else name
    return (located(name, path.parent), {}) if near else None


def template_file(path: Path) -> Path | None:
    """The template file that a question file was made from, as its season says; None where that is not there."""
    season = read_season(path)
    return path.parent / season.file if season is not None and is_file(path.parent / season.file) else None


def response(steps: Sequence[Step], question: Question, score: float, metric: str = "") -> Response:
    """The response type of an episode that took these steps and ended with a score of some metric."""
    names = dict.fromkeys(("episode_id", "task", "domain", "workflow", "llm", "condition", "answer"), "")
    episode = Episode(
        **names,  # type: ignore[arg-type]  # all of them are texts
        schema=SCHEMA,
        question_id=question.id,
        level=question.level,
        question=question.question,
        golds=question.answers,
        evidence=question.evidence,
        outcome=Outcome(kind="finished"),
        steps=list(steps),
    )
    return classify(episode, score, metric=metric)


def judged_by_containment(question: Question) -> bool:
    """Whether the evidence of an episode can show that it was supported.

    The rule itself decides: an observation that holds the golds must not leave the response type undecided. The ids of
    right documents decide without any containment.
    """
    seen = [Step(kind="call", observation="\n".join(question.answers))]
    return bool(question.meta.get("text_ids")) or not response(seen, question, 0.0).undecided


def leaked(question: Question) -> bool:
    """Whether the question contains an answer as whole tokens and the question offers no choice.

    Golds that any text holds by chance (yes, no, small numbers) are no leak, and neither is any in a question so long
    that it brings along the text from which the answer is to be taken.
    """
    text = question.question
    bare = question.model_copy(update={"evidence": [], "meta": {}})
    if len(tokens(text)) > PASSAGE or not judged_by_containment(bare) or _offers_choice(question):
        return False
    observed = Observed([text])
    return any(values and all(map(observed.holds, values)) for values in map(gold_values, question.answers))


def _offers_choice(question: Question) -> bool:
    """Whether the text names candidates, by an "or", an "of ... and" or a list, or meta does."""
    text = question.question
    listed = next(filter(None, map(question.meta.get, ("options", "choices", "candidates"))), None)
    several = sum(map(text.count, SEPARATORS)) > 1
    return several or bool(isinstance(listed, list) or OR.search(text) or AND.search(text))
