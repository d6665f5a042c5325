"""PAL (Gao et al., 2023): the LLM writes one program over the query APIs, which runs once, as in the paper.

The program runs in a sandbox, never in Python itself. Its answer is the variable `answer`, else the last expression,
else its output. A failing program ends the episode as tool misuse with the cause.

A base model gets one text that ends with the line that opens a code fence.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
import warnings

from r_eval.environments.schema import shapes
from r_eval.llms.base import Message, Request
from r_eval.workflows.answers import program_result
from r_eval.workflows.base import Limits, LLMProtocol, SessionProtocol, TaskInput, Workflow, WorkflowResult, ended
from r_eval.workflows.conversation import completion_prompt
from r_eval.workflows.direct import QUESTION

MAX_FENCED, MAX_BARE = 200_000, 20_000
"""Characters of a reply that are searched for a program, with and without a code fence."""
TRIES = 5
BLOCK = re.compile(r"```[ \t]*+(\w*+)[^\n`]*+\n(.*?)(?:\n[ \t]*+```|```|$)", re.DOTALL)
LANGUAGES = ("", "python", "py", "python3", "tool_code")
BEGINNING = re.compile(
    r"^(?:\w+ *=(?!=)|\w+\(|import [\w., ]+$|from [\w.]+ import\b|(?:def|for|if|while|try)\b.*: *$)", re.MULTILINE
)
MARK = re.compile(
    r"^(?:`{1,3}(?:python|py)?\b[ \t]*+|(?:<[\w|]{1,30}>)+)|(?<=[^\s`])`{1,3}$|(?:</\w{1,30}>|<\|\w{1,30}\|>)+$",
    re.MULTILINE,
)
"""What surrounds a program in its line."""
START, STOP = "```python", ("\n```", f"\n{QUESTION.strip()}")
"""The start of a base model's program and its stop sequences."""


class PAL(Workflow):
    """Program-aided language model."""

    last_chance = False
    PROMPTS = ("pal",)

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        specs, label = list(session.specs.values()), "" if llm.chat else QUESTION
        stubs = "\n\n".join(filter(None, [*(spec.stub() for spec in specs), shapes(specs)]))
        system = PAL.prompt("pal", domain=session.description, stubs=stubs, instruction=question.instruction)
        messages = [Message("system", system)]
        for demonstration in question.demonstrations:
            program = f"```python\n{demonstration.program.strip()}\n```"
            messages += [Message("user", f"{label}{demonstration.question}"), Message("assistant", program)]
        messages.append(Message("user", question.with_documents(f"{label}{question.text}")))
        request = Request(tuple(messages)) if llm.chat else Request(completion_prompt(messages, START), stop=STOP)
        text = (await llm.generate(request)).text
        code = program_in(text if llm.chat or "```" in text else f"{START}\n{text.strip()}\n```")
        if not code:
            return ended("tool_misuse", "no_program", "the reply holds no program")
        return program_result(await session.run_program(code))


def program_in(text: str) -> str:
    """The program in a reply: the first fenced block of Python, else the whole text, else the lines of valid Python
    from the first line that looks like code; "" for none.
    """
    for language, code in BLOCK.findall(text[:MAX_FENCED]):
        if language.lower() in LANGUAGES:
            return textwrap.dedent(code).strip()
    text = text[:MAX_BARE]
    code = _readable(text.split("\n"), 1)
    for source in (text, MARK.sub("", text)):
        starts = itertools.islice(BEGINNING.finditer(source), TRIES)
        candidates = (_readable(source[start.start() :].split("\n"), TRIES) for start in starts)
        code = code or next(filter(None, candidates), "")
    return code


def _readable(lines: list[str], tries: int) -> str:
    """The longest prefix of lines that is valid Python, with a few tries; "" for none."""
    for _ in range(tries):
        code = "\n".join(lines)
        try:
            with warnings.catch_warnings(action="ignore"):
                ast.parse(code)
            return code.strip()
        except SyntaxError as error:
            lines = lines[: max(0, min(len(lines), error.lineno or 0) - 1)]
        except (ValueError, MemoryError, RecursionError):
            break
    return ""
