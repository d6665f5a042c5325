"""ReAct with a second look: the LLM reconsiders its first answer before it is accepted."""

from r_eval.llms.base import Message
from r_eval.workflows.answers import action_answer
from r_eval.workflows.base import (
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    WorkflowResult,
    finished,
)
from r_eval.workflows.react import ReAct, initial_messages, observation_of

ASK = "Before you finish: is this in an Observation? If so, Finish with it; otherwise take another Action."


class Reflect(ReAct):
    """ReAct with a second look.

    Args:
        ask: The message to the LLM after its first Finish.
    """

    def __init__(self, ask: str = ASK) -> None:
        super().__init__()
        self.ask = ask

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        messages, reflected = initial_messages(question, session), False
        for step in range(1, limits.steps + 1):
            reply, action = await self.act(messages, step, session, llm)
            if action is None or action.name != "Finish":
                text = f"Observation {step}: {await observation_of(action, step, session, llm)}"
            elif reflected or step == limits.steps:
                return finished(action_answer(action), "finish")
            else:
                reflected, text = True, self.ask
                llm.note(text)
            messages += [reply, Message("user", text)]
        raise LimitReached("steps", f"no Finish within {limits.steps} steps", messages)
