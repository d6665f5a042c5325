"""What every workflow must do, whatever an LLM answers: the `WorkflowContract`.

Every installed workflow is checked with its defaults, and `rag` with gold retrieval. A new one is found by its entry
point and need not be named here; `agent`, which needs a program, is checked in tests/workflows/test_agent.py.
"""

from __future__ import annotations

import pytest

from r_eval.plugins import names
from r_eval.workflows.base import Limits, Workflow, make
from tests.workflow_contract import Pantry, Talker, WorkflowContract, in_every_notation, played

CLASSES = names("workflows", Workflow)
WORKFLOWS = {name: make(cls, name, {}) for name, cls in CLASSES.items() if name != "agent"}
WORKFLOWS["rag with gold"] = make(CLASSES["rag"], "rag", {"retrieval": "gold"})
ASKING = [name for name, workflow in WORKFLOWS.items() if workflow.uses_llm]


@pytest.mark.parametrize("name", ASKING)
class TestInstalled(WorkflowContract):
    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.made = WORKFLOWS[name]

    def workflow(self) -> Workflow:
        return type(self.made)(**self.made.settings())


def test_the_oracle_answers_with_the_gold_programs_answer_and_asks_no_llm() -> None:
    llm, oracle = Talker(in_every_notation), WORKFLOWS["oracle"]
    assert type(oracle)(**oracle.settings()).identity() == oracle.identity()
    episode = played(oracle, llm, Pantry(), Limits())
    assert (episode.answer, episode.outcome.kind, llm.requests) == ("Qwyxanthium", "finished", [])
