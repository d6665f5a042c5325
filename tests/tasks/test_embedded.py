"""The tasks of the paper: every question can be answered through the query APIs, and its gold is what they give."""

from __future__ import annotations

import asyncio
import collections
import functools
from pathlib import Path

import pytest

from r_eval import Grid, Run, arun
from r_eval.analysis import metrics
from r_eval.analysis.response_types import classify
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Question, Step
from r_eval.runner.demonstrations import work_out
from r_eval.tasks.base import Task, installed, open_environment, task_files
from r_eval.tasks.build import DEMONSTRATIONS, make
from r_eval.tasks.templates import TemplateFile, read_templates
from tests.paper import paper_tasks

LEVELS = {"1": "KS", "2": "KU", "3": "KA"}
PAPER = {
    "1-1": "wiki/high-freq",
    "1-2": "wiki/low-freq",
    "1-3": "aminer/soay-easy",
    "2-1": "wiki/copen-csj",
    "2-2": "wiki/copen-cpj",
    "2-3": "wiki/copen-cic",
    "2-4": "aminer/profiling",
    "3-1": "wiki/hotpotqa",
    "3-2": "wiki/2wikimultihopqa",
    "3-3": "wiki/musique",
    "3-4": "wiki/kqapro",
    "3-5": "aminer/soay-hard",
}

pytestmark = pytest.mark.parametrize("name", paper_tasks())


@functools.cache
def replayed(name: str) -> list[tuple[Question, str, list[Step]]]:
    """Each question and demonstration of a task with its program's answer and calls."""
    task = installed(name)
    environment = open_environment(task.environment)

    async def every() -> list[tuple[Question, str, list[Step]]]:
        found = []
        with Sandbox() as sandbox:
            for question in (*task.questions, *task.demonstrations):
                calls: list[Step] = []
                result = await Session(environment, sandbox, calls.append).run_program(question.program or "")
                found.append((question, answer_text(result.answer), calls))
        return found

    return asyncio.run(every())


def everything(task: Task) -> list[Question]:
    return [*task.questions, *task.demonstrations]


def templates(name: str) -> TemplateFile:
    path = task_files()[name]
    return read_templates(path.with_name(f"{path.stem}.templates.yaml"))


def test_it_has_a_hundred_questions_and_as_many_demonstrations(name: str) -> None:
    assert len(installed(name).questions) == len(installed(name).demonstrations) == 100


def test_ids_and_texts_are_unique(name: str) -> None:
    for key in ("id", "question"):
        found = collections.Counter(getattr(q, key) for q in everything(installed(name)))
        assert [value for value, count in found.items() if count > 1] == []


def test_no_demonstration_is_asked(name: str) -> None:
    task = installed(name)
    assert not {q.question.casefold() for q in task.questions} & {q.question.casefold() for q in task.demonstrations}


def test_demonstrations_show_calls_that_end_in_their_answer(name: str) -> None:
    task = installed(name)

    async def worked() -> None:
        with Sandbox() as sandbox:
            shown = await work_out(task.demonstrations, open_environment(task.environment), sandbox, 1000)
        assert [d.answer for d in shown] == [q.answers[0] for q in task.demonstrations]
        assert all(d.calls and all(c.error is None for c in d.calls) for d in shown)

    asyncio.run(worked())


def test_its_files_are_what_its_templates_make(name: str, sandbox: Sandbox) -> None:
    made, _ = asyncio.run(make(templates(name), sandbox))
    task = installed(name)
    assert made[:DEMONSTRATIONS] == list(task.demonstrations)
    assert made[DEMONSTRATIONS:] == list(task.questions)


def test_the_oracle_scores_100_with_evidence_for_every_answer(name: str, tmp_path: Path) -> None:
    grid = Grid(workflows=["oracle"], llms=["openai/unused"], tasks=[name], shots=0)

    async def replay() -> Run:
        return await arun(grid, tmp_path / "run")

    result = asyncio.run(replay())
    task, episodes = installed(name), list(result.episodes())
    assert (result.state, len(episodes)) == ("complete", len(task.questions))
    score = metrics.get(task.metric)
    assert [e.question_id for e in episodes if score(e.answer, e.golds) != 1.0] == []
    found = {e.question_id: classify(e, 1.0) for e in episodes}
    assert {key: response for key, response in found.items() if response.type != "EM"} == {}
