"""RAGQuestEval: what the LLM is asked and how its replies are read, the scores, and all of it over a real chat
server."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from r_eval.analysis.metrics import get, summaries
from r_eval.analysis.metrics.quest_eval import UNANSWERABLE, Pair, normalised, read_answers, read_questions, score
from tests.chat_server import bad, good
from tests.serving import serving

pytest.importorskip("jieba", reason="jieba is not installed")

LIBRARY = "国家图书馆宣布五月一日起每周一闭馆，周末开放到晚上九点。"
KENYA = "Nairobi is the capital of Kenya. It was founded in 1899 by the railway."
QUESTIONS = {
    LIBRARY: ["国家图书馆每周哪天闭馆？", "国家图书馆周末开放到几点？", "国家图书馆的馆长是谁？"],
    KENYA: ["What is the capital of Kenya?", "When was Nairobi founded?", "Who founded Nairobi?"],
}
ANSWERS = {LIBRARY: ["周一", "晚上九点"], KENYA: ["Nairobi", "1899", "the railway"]}
FACTS = {one: fact for text, facts in ANSWERS.items() for one, fact in zip(QUESTIONS[text], facts, strict=False)}
TWO = ["Where?", "When?"]


@dataclass
class Table:
    """A chat server whose LLM knows a question's answer if it stands in the text, and writes the questions above.

    Attributes:
        broken: Replies that it gives once to a prompt that holds a text, instead of the right one.
        failing: Texts to which it answers with an error.
    """

    broken: dict[str, str] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    prompts: list[str] = field(default_factory=list)
    url: str = ""

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _chat(self, request: web.Request) -> web.Response:
        prompt = (await request.json())["messages"][0]["content"]
        if "tests the connection" in prompt:
            return web.json_response(good("ready").body)
        self.prompts.append(prompt)
        if any(text in prompt for text in self.failing):
            return web.json_response(bad(400, "broken").body, status=400)
        if first := next((text for text in self.broken if text in prompt), None):
            return web.json_response(good(self.broken.pop(first)).body)
        return web.json_response(good(self.reply(prompt)).body)

    def reply(self, prompt: str) -> str:
        text, after = re.search(r"-{10}\n(.*)\n-{10}\n(.*)", prompt, re.DOTALL).groups()  # type: ignore[union-attr]
        asked = re.findall(r"^(q\d+): (.*)$", after, re.MULTILINE)
        if not asked:
            return "Here: " + json.dumps({"key_info": ["x"], "questions": QUESTIONS[text]})
        found = {name: FACTS.get(question, "?") for name, question in asked}
        replies = {name: fact if fact in text else "<Unanswerable>" for name, fact in reversed(found.items())}
        return f"```json\n{json.dumps(replies, ensure_ascii=False)}\n```"


@pytest.fixture
def table() -> Iterator[Table]:
    server = Table()
    with serving(server.app()) as url:
        server.url = f"{url}/v1"
        yield server


@pytest.fixture
def llm(table: Table, tmp_path: Path) -> str:
    path = tmp_path / "evaluator.yaml"
    path.write_text(f"llm: openai/some-model\nbase_url: {table.url}\n", encoding="utf-8")
    return str(path)


def scores(llm: str, answer: str, gold: str) -> list[float]:
    """Recall over all questions and over those that the reference answers, precision, precision over all, combined."""
    parts = ("_recall@{}", "_recall@{}#answered", "_precision@{}", "_precision@{}#all", "@{}")
    return [get("quest_eval" + part.format(llm)).scores([answer], [[gold]])[0] for part in parts]


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        (LIBRARY, LIBRARY, [2 / 3, 1, 1, 2 / 3, 1]),
        (KENYA, KENYA, [1, 1, 1, 1, 1]),
        ("Nairobi was founded in 1899.", KENYA, [2 / 3, 2 / 3, 1, 2 / 3, 2 / 3]),
        (" ", KENYA, [0, 0, 0, 0, 0]),
    ],
)
def test_scores_over_a_server_in_chinese_and_in_english(
    llm: str, answer: str, gold: str, expected: list[float]
) -> None:
    assert scores(llm, answer, gold) == pytest.approx(expected)


def test_the_metrics_share_their_replies_and_a_reference_is_asked_about_once(table: Table, llm: str) -> None:
    for _ in range(2):
        get(f"quest_eval@{llm}").scores(["Nairobi", "1899", KENYA, " "], [[KENYA]] * 4)
        scores(llm, "Nairobi", KENYA)
        assert len(table.prompts) == 4


@pytest.mark.parametrize(
    ("broken", "answer", "expected"),
    [({KENYA: "Well, let me think."}, KENYA, 1), ({"of 1899": '{"q2": "1899"}'}, "Nairobi, of 1899.", 2 / 3)],
)
def test_a_reply_that_cannot_be_read_or_lacks_an_answer_is_asked_for_once_more(
    table: Table, llm: str, broken: dict[str, str], answer: str, expected: float
) -> None:
    table.broken = broken
    assert scores(llm, answer, KENYA)[4] == pytest.approx(expected)


def test_a_failure_of_the_llm_and_a_lacking_reference_are_no_score(table: Table, llm: str) -> None:
    table.failing = {"Mombasa"}
    found = get(f"quest_eval@{llm}").scores(["Mombasa", "Nairobi", "Nairobi"], [[KENYA], [KENYA], []])
    assert found == [pytest.approx(math.nan, nan_ok=True), pytest.approx(1 / 3), pytest.approx(math.nan, nan_ok=True)]
    (said,) = summaries([f"quest_eval@{llm}"])
    assert "1 of 3 answers scored" in said
    assert "1 not scored: there is no reference" in said
    assert re.search("1 not scored: the LLM .* failed: .*broken", said)


@pytest.mark.parametrize(
    "reply",
    [
        '{"key_info": ["Kenya"], "questions": ["Where?", "When?"]}',
        '{"question": ["Where?", "When?"]}',
        'Here you are:\n{"key_info": ["Kenya"],\n "questions": ["Where?", "When?",],}\nI hope that it helps.',
        '{"questions": ["Where?", " When?\\n", "Where?", "", 3]}',
        'As asked, {"questions": []}: {"questions": ["Where?", "When?"]}',
    ],
)
def test_the_questions_are_read_whatever_stands_around_them(reply: str) -> None:
    assert read_questions(reply) == TWO


@pytest.mark.parametrize(
    "reply",
    [
        '{"q2": "1912", "q1": "Kenya"}',
        'Sure!\n```json\n{"q1": "Kenya", "q2": "1912"}\n```\nAnything else?',
        '{"Q1": "Kenya", "question 2": "1912"}',
        '{"answers": {"q1": "Kenya", "q2": "1912"}}',
        '[{"id": "q2", "answer": "1912"}, {"id": 1, "answer": "Kenya"}]',
        '{"answers": [{"id": 2, "answer": "1912"}, {"id": 1, "answer": "Kenya"}]}',
        '{"q1": "Oz", "q2": "1912"} No: {"q1": "Kenya", "q2": "1912", "q3": "and more", "note": "done"}',
    ],
)
def test_an_answer_belongs_to_the_question_whose_id_it_bears(reply: str) -> None:
    assert read_answers(reply, TWO) == ["Kenya", "1912"]


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"q2": "1912"}', [None, "1912"]),
        *[(reply, [None, None]) for reply in ("", "Kenya\n1912", '["Kenya"]', "{}", '{"Where?": "Kenya"}')],
        *[(f'{{"q1": {text}}}', [UNANSWERABLE, None]) for text in ("null", '""', '"Not mentioned."', "[]")],
    ],
)
def test_what_is_missing_or_empty_is_no_answer(reply: str, found: list[str | None]) -> None:
    assert read_answers(reply, TWO) == found


NOTHING = [
    *("<Unanswerable>", "<unanswerable>.", " Unanswerable ", "", "N/A", "Not mentioned."),
    *("not mentioned in the text", "The text does not say.", "It cannot be determined from the given text."),
    *("Cannot be inferred", "I don’t know", "Not enough information", "无法推断", "无法推断。", "无法 推断"),
    *("文中未提及。", "未提及", "没有提到", "根据文本无法推断", "无法确定", "无法回答该问题", "信息不足"),
]
GENUINE = [
    *("uncertainty", "political uncertainty", "未知因素", "没有造成人员伤亡", "没有受伤", "unknown factors"),
    *("unknown", "none", "no", "否", "42", "The court could not determine the owner"),
    *("The book is not mentioned in the text of the treaty", "无法推断的原因是资料丢失"),
]


def test_only_a_whole_answer_says_that_there_is_none() -> None:
    assert [text for text in NOTHING if normalised(text) != UNANSWERABLE] == []
    assert [text for text in GENUINE if normalised(f" {text} ") != text] == []


FIGURE_6 = [Pair("red fox", "red wolf"), Pair("Nairobi", "Nairobi"), Pair("1912", UNANSWERABLE)]
"""F1 of 0.5 and of 1, and one question that the generated text does not answer."""


@pytest.mark.parametrize(
    ("further", "expected"),
    [
        ([], (2 / 3, 2 / 3, 0.75, 0.5, 0.5)),
        ([Pair(UNANSWERABLE, "Oz")], (2 / 3, 2 / 4, 0.75, 1.5 / 4, 0.5)),
        ([Pair("Oz", None), Pair(None, "Oz"), Pair(UNANSWERABLE, None)], (2 / 3, 2 / 4, 0.75, 1.5 / 4, 0.5)),
    ],
)
def test_figure_6_of_the_paper(further: list[Pair], expected: tuple[float, ...]) -> None:
    assert score([*FIGURE_6, *further]) == pytest.approx(expected)
