"""Oracle: runs the gold program over the query APIs; the reference for whether a question can be answered."""

from __future__ import annotations

from r_eval.workflows.answers import program_result
from r_eval.workflows.base import Limits, LLMProtocol, SessionProtocol, TaskInput, Workflow, WorkflowResult, ended


class Oracle(Workflow):
    """Replays gold programs."""

    uses_llm, last_chance = False, False
    uses_gold = True

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        program = question.solution.program if question.solution else None
        if not program:
            return ended("gave_up", "no_program", "the question has no gold program")
        return program_result(await session.run_program(program))
