"""Direct: the LLM answers from its own knowledge, without tools: the baseline.

A base model gets one text that ends in "Answer:".
"""

from __future__ import annotations

from r_eval.llms.base import Message, Request
from r_eval.workflows.answers import free_answer
from r_eval.workflows.base import (
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    ended,
    finished,
)
from r_eval.workflows.conversation import completion_prompt

QUESTION, ANSWER = "Question: ", "Answer:"
"""Labels in a base model's text."""


class Direct(Workflow):
    """One reply, no tools."""

    uses_tools = False
    last_chance = False
    PROMPTS = ("direct", "direct_documents")

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        name = "direct_documents" if question.context else "direct"
        system = Direct.prompt(name, instruction=question.instruction)
        label = "" if llm.chat else QUESTION
        return await answer_once(question, system, question.with_documents(f"{label}{question.text}"), llm)


async def answer_once(question: TaskInput, system: str, user: str, llm: LLMProtocol) -> WorkflowResult:
    """Run an episode of one reply; `user` is the message with the question, after its label for a base model."""
    label, start = ("", "") if llm.chat else (QUESTION, ANSWER)
    messages = [Message("system", system)]
    for demonstration in question.demonstrations:
        messages.append(Message("user", f"{label}{demonstration.question}"))
        messages.append(Message("assistant", f"{start} {demonstration.answer}".strip()))
    messages.append(Message("user", user))
    request = Request(tuple(messages))
    if not llm.chat:
        stop = f"\n{label.strip()}"
        request = Request(completion_prompt(messages, start), stop=(stop,) if question.long else (stop, "\n\n"))
    answer = free_answer((await llm.generate(request)).text, question.long)
    return finished(answer, "text") if answer else ended("gave_up", "empty_reply")
