"""Thinking that a model writes before its answer, separated from the answer.

Servers that know a model return its thinking in a field of its own; others leave it in the text, between tags or in
Harmony's channels. A closing tag without an opening one (the chat template wrote it) and an opening one that is never
closed (the reply was cut) are understood too.
"""

from __future__ import annotations

import dataclasses
import itertools
import re

from r_eval.llms.base import Reply

_NAMES = r"(?:(?:\w{1,20}[:_])?think|thinking|thoughts?|reasoning|reason|reflection)"
TAG = re.compile(
    rf"(?P<close></{_NAMES}>|\[/THINK\]|◁/think▷|<channel\|>|<\|(?:end_of_thought|end_thinking|inner_suffix)\|>)"
    rf"|(?P<open><{_NAMES}>|\[THINK\]|◁think▷|<\|channel>thought\b"
    r"|<\|(?:begin_of_thought|start_thinking|inner_prefix)\|>)"
    r"|<\|(?:(?:begin|end)_of_solution|(?:start|end)_response)\|>",
    re.IGNORECASE,
)
"""DeepSeek, Qwen, GLM (<think>), EXAONE (<thought>), Seed, LongCat (a prefix), Magistral ([THINK]), Kimi-VL, Gemma 4
(<|channel>thought), OpenThinker, Command A, Apertus; on the last line, what is around an answer and no part of it."""

CHANNEL = re.compile(
    r"(?:<\|start\|>\w*)?(?: ?\bto=[\w.-]{1,100} ?)?<\|channel\|>\s*(?P<name>\w+)(?P<head>[^<]{0,200})"
    r"(?:<\|constrain\|>[^<]{0,50})?<\|message\|>"
)
"""The beginning of a Harmony message (gpt-oss): a channel, perhaps a recipient, then the text."""
CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")
BARE_CHANNEL = re.compile(r"(?:\A|assistant)(analysis|commentary|final)(?! to=)")
"""The same where the special tokens were left out of the text: `analysisHm.assistantfinalNairobi`."""
HIDDEN_CHANNELS = ("analysis", "commentary")
MAX_MARKS, MAX_TEXT = 500, 200_000
"""Marks and characters of one reply that are looked at, since this runs on the event loop."""


def split_reasoning(reply: Reply) -> Reply:
    """A reply whose text is the answer alone; what was thought is its `reasoning`."""
    thought, text = split_text(reply.text)
    whole = "\n".join(filter(None, [reply.reasoning, thought]))
    return dataclasses.replace(reply, text=text, reasoning=whole)


def split_text(text: str) -> tuple[str, str]:
    """Thinking and answer of a text.

    >>> split_text("<think>Kenya is in Africa.</think>Africa")
    ('Kenya is in Africa.', 'Africa')
    """
    if text.startswith("analysis") and "assistantfinal" in text:
        text = BARE_CHANNEL.sub(r"<|channel|>\1<|message|>", text[:MAX_TEXT]) + text[MAX_TEXT:]
    thoughts, answers = (_channels if "<|channel|>" in text else _tagged)(text)
    answer = "".join(answers)
    return "\n".join(t.strip() for t in thoughts if t.strip()), answer if answer == text else answer.strip()


def _tagged(text: str) -> tuple[list[str], list[str]]:
    """The pieces of thinking and of the answer in a text with tags."""
    thoughts: list[str] = []
    answers: list[str] = []
    position, opened = 0, False
    for tag in itertools.islice(TAG.finditer(text, 0, MAX_TEXT), MAX_MARKS):
        # Before the first tag of all, a closing one ends thinking as well; a tag within thinking is a part of it.
        is_thought = opened or (tag["close"] and not thoughts)
        (thoughts if is_thought else answers).append(text[position : tag.start()])
        opened, position = opened if tag.lastgroup is None else not tag["close"], tag.end()
    (thoughts if opened else answers).append(text[position:])
    return thoughts, answers


def _channels(text: str) -> tuple[list[str], list[str]]:
    """The same of a text in Harmony's channels; a message to a recipient is a tool call and stays whole."""
    marks = list(itertools.islice(CHANNEL.finditer(text, 0, MAX_TEXT), MAX_MARKS))
    thoughts: list[str] = []
    answers = [text[: marks[0].start()] if marks else text]
    for mark, after in itertools.zip_longest(marks, marks[1:]):
        stop = after.start() if after else len(text)
        end = CHANNEL_END.search(text, mark.end(), stop)
        if "to=" in mark[0]:
            answers.append(text[mark.start() : end.end() if end else stop])
        else:
            pieces = thoughts if mark["name"] in HIDDEN_CHANNELS else answers
            pieces.append(text[mark.end() : end.start() if end else stop])
    return thoughts, answers
