"""Direct: the question is answered from what the LLM knows, without tools; a lower bound.

Documents that came with the question stand in the prompt.
"""

from __future__ import annotations

from r_eval.llms.base import Message, Request
from r_eval.workflows.base import Asked, Ending, Limits, LLMProtocol, SessionProtocol, Workflow, ended, finished, prompt
from r_eval.workflows.reading import free_answer


class Direct(Workflow):
    """One reply, no tools."""

    uses_tools = False
    last_chance = False
    PROMPTS = ("direct", "direct_documents")

    async def run(self, question: Asked, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> Ending:
        told = "direct_documents" if question.context else "direct"
        messages = [Message("system", prompt(Direct, told, instruction=question.instruction))]
        for shown in question.demonstrations:
            messages += [Message("user", shown.question), Message("assistant", shown.answer)]
        documents = "\n\n".join(f"{d.title}\n{d.text}" for d in question.context)
        messages.append(Message("user", f"{documents}\n\n{question.text}".strip()))
        reply = await llm.generate(Request(tuple(messages)))
        answer = free_answer(reply.text, question.long)
        return finished(answer, "text") if answer else ended("gave_up", "empty_reply")
