"""Extracts the answer from a reply, and asks for one at the last chance; `r_eval.llms.tool_calls` parses calls."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping

from r_eval.environments.sandbox import ProgramResult, answer_text
from r_eval.environments.schema import ApiSpec
from r_eval.llms.base import LLMError, Reply, Request, ToolCall
from r_eval.llms.json_text import FENCE, json_values
from r_eval.llms.tool_calls import parse_action
from r_eval.records import Outcome
from r_eval.workflows.base import LimitReached, LLMProtocol, Workflow, WorkflowResult, ended, finished
from r_eval.workflows.conversation import FINISH, completion_prompt, with_note

MAX_TEXT, MAX_ANSWER = 20_000, 40_000
"""Characters of a reply that are searched for tags and for an answer."""
_ANSWER = r"(?:(?:final|correct|short)\s+)?answers?|(?:最终)?答案"
_OTHER = (
    "(?:最終)?回答|答え?|답변?|정답|réponse(?: finale)?|resp(?:ue|o)sta(?: final)?|risposta(?: finale)?|antwort|ответ"
)
_SENTENCE = rf"""(?:[^.!?。]{{1,80}}?[,，]\s*)?
(?:(?:so|thus|therefore|hence|in\ conclusion),?\s+|(?:所以|因此)[,，]?\s*|here(?:\ is|['’]s)\s+)?
(?:(?:(?:the|my)\s+)?(?:{_ANSWER})(?:\s+to\s+(?:the|this|that|your)\s+question)?
    (?:\s+(?:is|are|(?:would|should|must)\ be)\b(?:\s+(?:therefore|thus|hence)\b)?\s*[:：]?|\s*[:：])
|(?:最终)?答案[是为][:：]?)"""
LABEL = re.compile(rf"[\s*_#>]*+(?:{_ANSWER}|{_OTHER}|a)[\s*_]*+(?:[:：]|(?<!a)$)[\s*_]*+", re.IGNORECASE)
"""The beginning of a line that says that the answer follows."""
CONCLUSION = re.compile(rf"(?:^|(?<=[.!?。]))[\s*_#>]*+{_SENTENCE}[\s*_]*+(?=.{{0,20}}\w)", re.IGNORECASE | re.VERBOSE)
FURTHER = re.compile(r"(?:question|q|问题)\s*+\d*+\s*+[:：]", re.IGNORECASE)
THOUGHT = re.compile(r"^[*_#> ]*+Thought\s*+\d*+[*_ ]*+[:：][*_ ]*+", re.IGNORECASE | re.MULTILINE)
BULLET, NUMBER = re.compile(r"[-*•]\s+(?=\S)"), re.compile(r"\d{1,2}[.)]\s+(?=\S)")
PERIOD = re.compile(r"(?<=\w\w)(\**)[.。]$")
TAGGED = re.compile(r"<(response|answer|final_answer)>((?:(?!<\1>).)*?)(?:</\1>|$)", re.IGNORECASE | re.DOTALL)
BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})+)\}")
INNER = re.compile(r"\\(?:text|textbf|mathrm)\{([^{}]*)\}")
ANSWER_KEYS = ("final_answer", "answer", "Answer", "答案")


def action_answer(action: ToolCall) -> str:
    """The arguments of a Finish action as one text."""
    return answer_text(list(action.arguments.values()))


def finish_answer(reply: Reply) -> str | None:
    """The answer in a reply's Finish call; None if there is no such call or it has no arguments."""
    inputs = next((c.arguments for c in reply.tool_calls if c.name.lower() == "finish" and c.arguments), None)
    if not inputs:
        return None
    return answer_text(next((inputs[key] for key in ANSWER_KEYS if key in inputs), next(iter(inputs.values()))))


def final_answer(reply: Reply, specs: Mapping[str, ApiSpec]) -> str:
    """The answer in the last reply of an episode, from Finish or the text; "" for any other call and for a truncated
    reply without a marked answer.
    """
    if reply.tool_calls:
        return finish_answer(reply) or ""
    is_cut = reply.finish == "length"
    action = parse_action(reply.text, specs, is_cut)
    if action is not None:
        return action_answer(action) if action.name == "Finish" else ""
    return "" if is_cut else free_answer(THOUGHT.sub("", _excerpt(reply.text)))


def free_answer(text: str, long: bool = False) -> str:
    """The answer in a reply without actions: a phrase, or the whole text if `long`.

    Reads `<response>`, `<answer>` or `<final_answer>` tags, the key "answer" of a JSON object at the end and, unless
    `long`, the last `\\boxed{}` first.
    """
    tagged = [match[2].strip() for match in TAGGED.finditer(text[:MAX_TEXT])]
    text = next(filter(None, tagged), text)
    text = text[:MAX_ANSWER] if long else _excerpt(text)
    bare = FENCE.sub("", text.strip())
    if bare.endswith("}") and (bare.startswith("{") or not long):
        for match in json_values(bare):
            data = match.value if isinstance(match.value, dict) and match.end == len(bare) else {}
            for key in filter(data.__contains__, ANSWER_KEYS):
                return answer_text(data[key])
    boxed = [] if long or "\\boxed" not in text else BOXED.findall(text[-MAX_TEXT:])
    if boxed:
        return INNER.sub(r"\1", boxed[-1]).strip()
    return long_answer(text) if long else bare_answer(text)


def bare_answer(text: str) -> str:
    """The answer in a free reply: what follows the first label ("Answer:") or concludes the first sentence that says
    so ("The answer is ..."), else the whole text; of that the items if it is a list, else the first line.

    A first line that ends with a colon introduces what follows. Text after a further question is ignored: the model
    made it up.
    """
    lines: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("```"):
            continue
        if lines and FURTHER.match(line):
            break
        label = LABEL.match(line)
        if label and (not lines or label[0].lower().strip("*_ #>:：") != "a"):
            line = line[label.end() :].strip()
            lines = [] if line else [label[0].strip()]
        is_about = "answer" in line.lower() or "答案" in line
        ends = [match.end() for match in CONCLUSION.finditer(line[:MAX_TEXT])] if is_about else []
        if ends or (label and line):
            return _tidy(line[ends[-1] :] if ends else line, sentence=bool(ends))
        if line:
            lines.append(_tidy(line))
    if len(lines) > 1 and (lines[0].endswith((":", "：", " is")) or LABEL.match(lines[0])):
        lines = lines[1:]
    for bullet in (BULLET, NUMBER):
        items = [bullet.sub("", line, count=1) for line in itertools.takewhile(bullet.match, lines)]
        if len(items) > (bullet is NUMBER):
            return "; ".join(items)
    return lines[0] if lines else ""


def _tidy(text: str, sentence: bool = False) -> str:
    """An answer without emphasis marks and, if it is a sentence, without its period."""
    text = PERIOD.sub(r"\1", text.strip()) if sentence else text
    whole = re.fullmatch(r"\*\*([^*]+)\*\*|([^*]+)\*\*", text) if text.endswith("**") else None
    return PERIOD.sub(r"\1", (whole[1] or whole[2]).strip()) if whole else text


def long_answer(text: str) -> str:
    """An answer of several sentences: the whole reply without code fences, the answer marker and anything after a
    further question.
    """
    lines = [line.rstrip() for line in text.strip().splitlines() if not line.lstrip().startswith("```")]
    end = next((i for i, line in enumerate(lines) if i and FURTHER.match(line.strip())), len(lines))
    whole = "\n".join(lines[:end]).strip()
    label = LABEL.match(whole)
    return (whole[label.end() :].strip() if label else "") or whole


def _excerpt(text: str) -> str:
    """The text to search for an answer: of a very long one, its beginning and end."""
    return text if len(text) <= MAX_ANSWER else f"{text[: MAX_ANSWER // 2]}\n{text[-MAX_ANSWER // 2 :]}"


async def last_chance(
    limit: LimitReached, owner: type[Workflow], specs: Mapping[str, ApiSpec], instruction: str, llm: LLMProtocol
) -> WorkflowResult:
    """Ask for the answer in the conversation that reached a limit; the outcome remains `exhausted`.

    The runner does so for every workflow that leads one conversation. Query APIs are no longer offered. A conversation
    with tool calls has Finish as its only tool, since servers refuse such calls in a request without tools. The call is
    not required: some servers ignore or reject that, and an answer as text is parsed as well.

    Args:
        specs: The query APIs, so that a call is not mistaken for an answer.

    Raises:
        LLMError: The LLM failed for a reason other than the length of the conversation.
        LimitReached: No further call is possible.
    """
    request_text = owner.prompt("last_chance", instruction=instruction)
    request = Request(with_note(limit.messages, request_text))
    if not llm.chat:
        request = Request(completion_prompt(request.messages, "Answer:"), stop=("\nQuestion:", "\n\n"))
    elif any(message.tool_calls for message in limit.messages):
        request = dataclasses.replace(request, tools=(FINISH,))
    llm.note(request_text)
    try:
        reply = await llm.generate(request)
    except LLMError as error:
        if error.cause != "context":
            raise
        reply = Reply("")
    answer = final_answer(reply, specs)
    if not answer:
        return ended("exhausted", limit.cause, f"{limit}; no answer at the last chance either")
    return answered_after(limit, answer)


def program_result(result: ProgramResult) -> WorkflowResult:
    """The result of an episode whose answer a program computes."""
    if result.error is not None:
        return ended("tool_misuse", result.error.cause, result.error.message)
    return finished(answer_text(result.answer), "program")


def answered_after(limit: LimitReached, answer: str) -> WorkflowResult:
    """The result of an episode whose answer came after a limit."""
    outcome = Outcome(kind="exhausted", cause=limit.cause, detail=f"{limit}; answered after it")
    return WorkflowResult(answer, outcome, "last_chance")
