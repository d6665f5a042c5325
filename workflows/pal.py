"""PAL (Gao et al., 2023): the LLM writes one program over the query APIs, which is run once, as in the paper.

The program runs in a sandbox; Python itself never evaluates it. Its answer is the variable `answer`, else the last
expression, else what was printed. A program that fails ends the episode as tool misuse, with the cause.
"""

from __future__ import annotations

from r_eval.environments.sandbox import answer_text
from r_eval.environments.schema import shapes
from r_eval.llms.base import Message, Request
from r_eval.workflows.base import Asked, Ending, Limits, LLMProtocol, SessionProtocol, Workflow, ended, finished, prompt
from r_eval.workflows.reading import program_in


class PAL(Workflow):
    """Program-aided language model."""

    PROMPTS = ("pal",)

    async def run(self, question: Asked, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> Ending:
        specs = list(session.specs.values())
        stubs = "\n\n".join(filter(None, [*(spec.stub() for spec in specs), shapes(specs)]))
        system = prompt(PAL, "pal", domain=session.description, stubs=stubs, instruction=question.instruction)
        messages = [Message("system", system)]
        for shown in question.demonstrations:
            program = f"```python\n{shown.program.strip()}\n```"
            messages += [Message("user", shown.question), Message("assistant", program)]
        messages.append(Message("user", question.text))
        reply = await llm.generate(Request(tuple(messages)))
        code = program_in(reply.text)
        if not code:
            return ended("tool_misuse", "no_program", "the reply holds no program")
        result = await session.run_program(code)
        if result.error is not None:
            return ended("tool_misuse", result.error.cause, result.error.message)
        return finished(answer_text(result.answer), "program")
