"""How an answer, an action or a program is read out of what a model wrote."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from r_eval.environments.sandbox import answer_text
from r_eval.environments.schema import ApiSpec
from r_eval.llms.tools import LONGEST, lenient_json

PREFIX = re.compile(
    r"^[\s*_#>]*(?:(?:(?:final\s+)?answer|a)[\s*_]*[:：]|(?:the\s+)?(?:final\s+)?answer\s+is\b\s*[:：]?)[\s*_]*",
    re.IGNORECASE,
)
MARK = re.compile(r"\baction\s*(?:\d+\s*)?[:：][\s*`]*(.+)", re.IGNORECASE | re.DOTALL)
NAME = re.compile(r"(?<![A-Za-z_0-9])([A-Za-z_]\w*)\s*([\[(])")
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
    """The answer in a free reply: its first line that says something, without "Answer:" before it."""
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("```"):
            shortened = PREFIX.sub("", line, count=1).strip()
            return shortened or line
    return ""


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
    fences or text around it, and JSON calls. Names are matched without regard to case; text after `Action:` that
    has the form of a call but an unknown name is returned under that name, so that the model can be told.
    """
    text = text[:LONGEST]
    mark = MARK.search(text)
    where = mark.group(1) if mark else text
    known = {name.lower(): name for name in [*specs, "Finish"]}
    for match in NAME.finditer(where):
        name = known.get(match.group(1).lower())
        if name is None and (mark is None or match.start() > 0):
            continue
        spec = specs.get(name or "")
        parameters = [p.name for p in spec.parameters] if spec else ["answer"]
        return _arguments(name or match.group(1), match.group(2), where[match.end() :], parameters)
    data = lenient_json(where)
    if isinstance(data, dict):
        name = data.get("name") or data.get("action") or data.get("tool")
        arguments: Any = next((data[k] for k in ("arguments", "action_input", "parameters") if k in data), {})
        if isinstance(name, str) and isinstance(arguments, dict):
            return Action(known.get(name.lower(), name), (), arguments)
        if isinstance(name, str):
            return Action(known.get(name.lower(), name), (arguments,))
    return None


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
