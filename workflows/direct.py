"""Direct: the question is answered from what the LLM knows, without tools: the baseline.

A base model is given one text, which ends in "Answer:".
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
    completed,
    ended,
    finished,
    prompt,
)

LABELS = {"en": ("Question: ", "Answer:"), "zh": ("问题：", "答案：")}
"""What stands before a question and before its answer in a text for a base model, by the language of the prompt."""


class Direct(Workflow):
    """One reply, no tools."""

    uses_tools = False
    last_chance = False
    PROMPTS = ("direct", "direct_documents")

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        name = "direct_documents" if question.context else "direct"
        system = prompt(Direct, name, instruction=question.instruction)
        label = "" if llm.chat else LABELS["en"][0]
        return await answered(question, system, question.with_documents(f"{label}{question.text}"), llm)


async def answered(
    question: TaskInput, system: str, user: str, llm: LLMProtocol, language: str = "en"
) -> WorkflowResult:
    """An episode that ends with the next reply, whatever it says.

    Args:
        user: The question with what belongs to it; for a base model with the label before it.
        language: Of the labels in a text for a base model.
    """
    label, start = ("", "") if llm.chat else LABELS[language]
    messages = [Message("system", system)]
    for shown in question.demonstrations:
        messages.append(Message("user", f"{label}{shown.question}"))
        messages.append(Message("assistant", f"{start} {shown.answer}".strip()))
    messages.append(Message("user", user))
    request = Request(tuple(messages))
    if not llm.chat:
        stop = f"\n{label.strip()}"
        request = Request(completed(messages, start), stop=(stop,) if question.long else (stop, "\n\n"))
    answer = free_answer((await llm.generate(request)).text, question.long)
    return finished(answer, "text") if answer else ended("gave_up", "empty_reply")
