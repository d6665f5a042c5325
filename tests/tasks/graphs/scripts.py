"""LLMs that the tests of this folder script: `scripted/<this file>:<function>`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from r_eval.llms.base import Request


def name(function: str) -> str:
    """An LLM's name."""
    return f"scripted/{Path(__file__)}:{function}"


def words_it(request: Request) -> str:
    return json.dumps({"question": f"What goes with {_said(request, 'name: ')}?"})


def blabs(request: Request) -> str:
    answer = _said(request, "have this answer, and no other: ")
    return json.dumps({"question": f"Is it {answer} that goes with {_said(request, 'name: ')}?"})


def rambles(request: Request) -> str:
    return "Sure! I will think about it."


def knows_oslo(request: Request) -> str:
    return "Oslo"


def likes_all(request: Request) -> str:
    return "Fine. [SCORE] 2 [END]"


def dislikes_clarity(request: Request) -> str:
    return '{"score": 0}' if "clear what is asked" in request.messages[0].content else '{"score": 2}'


def grades_none(request: Request) -> str:
    return "Score: 0/2"


def will_not_grade(request: Request) -> str:
    return "Between 0 and 2."


def fails(request: Request) -> str:
    raise AssertionError(request.messages[0].content)


def takes_the_first(request: Request) -> str:
    return json.dumps({raw: names[0] for raw, names in _candidates(request).items()})


def takes_the_first_in_capitals(request: Request) -> str:
    return takes_the_first(request).upper()


def takes_none(request: Request) -> str:
    return json.dumps(dict.fromkeys(_candidates(request)))


def takes_what_is_not_listed(request: Request) -> str:
    return json.dumps(dict.fromkeys(_candidates(request), "Somebody"))


def knows_texas(request: Request) -> str:
    assert "rodeo" in request.messages[0].content
    return json.dumps({raw: "Paris, Texas" for raw, names in _candidates(request).items() if "Paris, Texas" in names})


def _candidates(request: Request) -> dict[str, list[str]]:
    lines = request.messages[0].content.splitlines()
    return {raw: names for line in lines if line.startswith("- {") for raw, names in json.loads(line[2:]).items()}


def finds_names(request: Request) -> str:
    text = request.messages[0].content.partition("Text:\n")[2]
    return json.dumps(re.findall(r"[A-Z][a-z]+", text))


def finds_names_in_objects(request: Request) -> str:
    return json.dumps({"entities": [{"name": name} for name in json.loads(finds_names(request))]})


def reads_facts(request: Request) -> str:
    text = request.messages[0].content.partition("Text:\n")[2]
    found = re.findall(r"^(.+?) > (.+?) > (.+)$", text, re.MULTILINE)
    return json.dumps([dict(zip(("subject", "relation", "object"), triple, strict=True)) for triple in found])


def _said(request: Request, after: str) -> str:
    found = re.search(f"{re.escape(after)}(.+)", request.messages[0].content)
    return found[1] if found else ""


def grades_in_kind(request: Request) -> str:
    text = request.messages[0].content
    assert "Grade one thing" not in text
    return "评分：2" if "评分" in text else '{"score": 2}'


def inflects_one(request: Request) -> str:
    return words_it(request).replace("Norway", "Norwa")
