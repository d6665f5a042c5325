"""How an answer, an action or a program is read out of what a model wrote."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from r_eval.environments.sandbox import answer_text
from r_eval.environments.schema import ApiSpec
from r_eval.llms import tools
from r_eval.llms.base import Reply, ToolSpec
from r_eval.workflows.base import FINISH

PREFIX = re.compile(
    r"^[\s*_#>]*(?:(?:(?:final\s+)?answer|a|(?:最终)?答案|回答)[\s*_]*[:：]|"
    r"(?:the\s+)?(?:final\s+)?answer\s+is\b\s*[:：]?)[\s*_]*",
    re.IGNORECASE,
)
MARK = re.compile(r"\baction\s*(?:\d+\s*)?[:：][\s*`]*(.+)", re.IGNORECASE | re.DOTALL)
NOTATION = re.compile(r"[\s`]*+(?:json\b[\s`]*+)?[{<]|.*\baction[ _]?input\b", re.IGNORECASE | re.DOTALL)
MARKED = re.compile(r"[\s*_#>]*(?:(?:final\s+)?answer|(?:最终)?答案|回答)[\s*_]*[:：]", re.IGNORECASE)
FURTHER = re.compile(r"(?:question|q|问题)\s*+\d*+\s*+[:：]", re.IGNORECASE)
THOUGHT = re.compile(r"^[*_#> ]*+Thought\s*+\d*+[*_ ]*+[:：][*_ ]*+", re.IGNORECASE | re.MULTILINE)
NAME = re.compile(r"(?<![A-Za-z_0-9])([A-Za-z_]\w*)\s*([\[(])")
RESPONSE = re.compile(r"<response>((?:(?!<response>).)*?)(?:</response>|$)", re.IGNORECASE | re.DOTALL)
CODE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:\n```|```|$)", re.DOTALL)
CLOSING = {"[": "]", "(": ")"}


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """An action as a model wrote it: a name as the environment spells it, and its arguments."""

    name: str
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def argument(self) -> str:
        """The arguments as one text, for Finish."""
        return answer_text([*self.positional, *self.named.values()])


def bare_answer(text: str) -> str:
    """The answer in a free reply: the first line marked with "Answer:", else the first that says something.

    Without the mark. Nothing counts that comes after a further question: the model made it up.
    """
    first = empty = ""
    for line in text.splitlines():
        line = line.strip()
        if first and FURTHER.match(line):
            break
        if not line or line.startswith("```"):
            continue
        shortened = PREFIX.sub("", line, count=1).strip()
        if shortened and MARKED.match(line):
            return shortened
        first, empty = first or shortened, empty or line
    return first or empty


def free_answer(text: str, long: bool = False) -> str:
    """The answer in a reply without actions: the bare one, or the whole text where it is a long one; of what stands
    between `<response>` tags, where anything does.
    """
    tagged = RESPONSE.search(text)
    if tagged and tagged.group(1).strip():
        text = tagged.group(1)
    return long_answer(text) if long else bare_answer(text)


def long_answer(text: str) -> str:
    """An answer of several sentences: the whole reply, without code fences, a mark before it, and what comes after a
    further question.
    """
    kept: list[str] = []
    for line in text.strip().splitlines():
        if any(kept) and FURTHER.match(line.strip()):
            break
        if not line.strip().startswith("```"):
            kept.append(line.rstrip())
    whole = "\n".join(kept).strip()
    return PREFIX.sub("", whole, count=1).strip() or whole


def answer_in(text: str, specs: Mapping[str, ApiSpec]) -> str:
    """The answer in a reply that may end as an action or freely; "" where it holds another action than Finish."""
    action = action_in(text, specs)
    if action is not None:
        return action.argument if action.name == "Finish" else ""
    return bare_answer(THOUGHT.sub("", text))


def program_in(text: str) -> str:
    """The program in a reply: the first fenced block, else the whole text where it reads as Python; "" for none."""
    block = CODE.search(text)
    if block:
        return block.group(1).strip()
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    return text.strip()


def action_in(text: str, specs: Mapping[str, ApiSpec]) -> Action | None:
    """The first action in a reply, in any of the ways in which models write one; None where there is none.

    `Search[Kenya]`, `Search(Kenya)`, `search(entity="Kenya")`, with or without `Action 1:` before it, code
    fences or text around it, and the notations of tool calls: JSON, tags, `Action Input:`. Names are matched without
    regard to case; text after `Action:` that has the form of a call but an unknown name is returned under that name, so
    that the model can be told.
    """
    text = text[: tools.LONGEST]
    mark = MARK.search(text)
    where = mark.group(1) if mark else text
    if NOTATION.match(where):
        return _tool_call(text, specs) or _bracketed(where, mark is not None, specs)
    return _bracketed(where, mark is not None, specs) or _tool_call(text, specs)


def _bracketed(where: str, marked: bool, specs: Mapping[str, ApiSpec]) -> Action | None:
    """The first `Search[...]` or `Search(...)`; an unknown name only right after a mark."""
    known = {name.lower(): name for name in [*specs, "Finish"]}
    for match in NAME.finditer(where):
        name = known.get(match.group(1).lower())
        if name is None and (not marked or match.start() > 0):
            continue
        spec = specs.get(name or "")
        parameters = [p.name for p in spec.parameters] if spec else ["answer"]
        return _arguments(name or match.group(1), match.group(2), where[match.end() :], parameters)
    return None


def _tool_call(text: str, specs: Mapping[str, ApiSpec]) -> Action | None:
    """The first call in one of the notations of tool calls."""
    call = next(iter(tools.read(Reply(text), [*map(_named, specs.values()), FINISH]).tool_calls), None)
    return Action(call.name, (), call.arguments) if call is not None and call.error is None else None


def _named(spec: ApiSpec) -> ToolSpec:
    """An API as a tool, with its parameters' names alone: the session gives their values the right types."""
    required = [p.name for p in spec.parameters if p.required]
    return ToolSpec(spec.name, "", {"properties": {p.name: {} for p in spec.parameters}, "required": required})


def _arguments(name: str, opening: str, rest: str, parameters: Sequence[str]) -> Action:
    """Reads what stands between an action's brackets: as Python arguments where it can be, else as one text."""
    inside = _inside(rest, opening)
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
        if isinstance(call, ast.Call) and (call.args or call.keywords):
            positional = tuple(ast.literal_eval(a) for a in call.args)
            named = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
            if len(positional) == 1 and isinstance(positional[0], dict) and not named:
                return Action(name, (), {str(key): value for key, value in positional[0].items()})
            if opening == "(" or not positional or isinstance(positional[0], str):
                return Action(name, positional, named)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        pass
    if "=" in inside:
        named = _loose(inside)
        if named and (opening == "(" or named.keys() <= set(parameters)):
            return Action(name, (), named)
    text = inside.strip()
    return Action(name, (text,) if text else ())


def _loose(inside: str) -> dict[str, Any]:
    """`name=Jane Roe, organization=Acme` without quotes."""
    parts = re.split(r",\s*(?=[A-Za-z_]\w*\s*=)", inside)
    pairs = [part.split("=", 1) for part in parts if "=" in part]
    if len(pairs) != len(parts) or not all(key.strip().isidentifier() for key, _ in pairs):
        return {}
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def _inside(rest: str, opening: str) -> str:
    """The text up to the bracket that closes the action, brackets and quotes inside it respected.

    It is looked for on the first line, then on the others; where there is none, the first line is all.
    """
    line = rest.split("\n", 1)[0]
    for text in (line, rest):
        end = _closing(text, opening)
        if end >= 0:
            return text[:end]
    last = line.rfind(CLOSING[opening])
    return line[:last] if last >= 0 else line


def _closing(text: str, opening: str) -> int:
    """Where the bracket is closed that stands before a text; -1 for nowhere."""
    closing = CLOSING[opening]
    depth, quote = 1, ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote and text[i - 1] != "\\" else quote
        elif c in "\"'" and (i == 0 or text[i - 1] in "(=[, ") and c in text[i + 1 :]:
            quote = c
        elif c == opening:
            depth += 1
        elif c == closing:
            depth -= 1
            if depth == 0:
                return i
    return -1
