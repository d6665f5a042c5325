"""LLMs that a function speaks for, what such a function may say, and a small environment to speak of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.llms.base import LLM, Reply, Request, ToolCall
from r_eval.records import Tokens

Said = Reply | str
LONG = 100_000


class Pantry(Environment):
    """Dishes and what is in them."""

    DISHES = {"pizza": ["flour", "tomato", "cheese"], "omelette": ["egg", "butter"]}

    def __init__(self) -> None:
        self.asked: list[str] = []

    def look(self, text: str) -> None:
        """Keep what was asked for, in all sessions."""
        self.asked.append(text)

    @query_api
    def find_dish(self, name: str) -> list[str]:
        """Find dishes by a part of their name.

        Args:
            name: A part of the name.
        """
        self.look(name)
        return [dish for dish in self.DISHES if name.lower() in dish]

    @query_api
    def ingredients(self, dish: str) -> list[str]:
        """List what is in a dish.

        Args:
            dish: The dish's exact name.
        """
        self.look(dish)
        if dish not in self.DISHES:
            raise NotFound(f"There is no dish {dish}. Known: {', '.join(self.DISHES)}")
        return self.DISHES[dish]


class Talker(LLM):
    """Says what a function answers; keeps every request.

    Args:
        native: Whether it takes tools natively.
        delay: Seconds before each reply.
    """

    def __init__(self, speak: Callable[[Request], Said], native: bool = True, delay: float = 0.0) -> None:
        super().__init__("talker", "talker", {})
        self.speak, self.native_tools, self.delay = speak, native, delay
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> Reply:
        self.requests.append(request)
        if self.delay:
            await asyncio.sleep(self.delay)
        said = self.speak(request)
        return said if isinstance(said, Reply) else Reply(said, tokens=Tokens(prompt=10, completion=5))


def every_notation(request: Request) -> Said:
    """The same right call, in every notation at once; natively where tools are offered."""
    text = 'I look.\nAction 1: find_dish(name="o")\n```python\nwhile True:\n    find_dish(name="o")\n```'
    if not request.tools:
        return f'{text}\n<tool_call>{{"name": "find_dish", "arguments": {{"name": "o"}}}}</tool_call>'
    call = ToolCall("a", "find_dish", {"name": "o"})
    return Reply("I look.", (call,), "tool_calls", Tokens(prompt=10, completion=5))


def repeat(request: Request) -> Said:
    """What it was told."""
    return "\n".join(f"{message.role}: {message.content}" for message in request.messages)[:LONG]


def _always(text: str) -> Callable[[Request], Said]:
    return lambda request: text


REPLIES: dict[str, Callable[[Request], Said]] = {
    "one call for ever": every_notation,
    "the prompt": repeat,
    "nothing": _always(""),
    "spaces": _always(" \n\t "),
    "noise": _always("#@! ¿ \0 \x1b[2J )]}>'\" ```` \\ $name %s {0} 〈〉"),
    "half a pair": _always('Action: find_dish(name="\\ud800") \ud800 Finish["\\ud800"]'),
    "an unknown call": _always('Action: look(at="x")\n<tool_call>{"name": "look", "arguments": {}}</tool_call>'),
    "a wrong call": _always('Action: find_dish(x="y")\n<tool_call>{"name": "find_dish"}</tool_call>'),
    "a call that cannot be read": _always("Action: \n<tool_call>find the dish</tool_call>"),
    "an empty Finish": _always('Action: Finish[]\n<tool_call>{"name": "Finish", "arguments": {}}</tool_call>'),
    "long text": _always("word " * (LONG // 5)),
    "one long word": _always("a" * LONG),
    "an action of brackets": _always("Action 1: find_dish(" + "[" * LONG),
    "a program of brackets": _always("```python\nanswer = " + "(" * LONG + "\n```"),
    "deep arguments": _always('{"name": "find_dish", "arguments": {"name": ' + "[" * 400 + "]" * 400 + "}}"),
    "lines": _always("\n" * LONG),
    "observations": _always("\nObservation 1: x" * (LONG // 17)),
}
"""Replies that no workflow may fall over, by what they are."""
