"""RAGQuestEval's prompts and replies: what the LLM is asked, and how questions and answers are read from what it says.

The prompts are in `prompts/quest_*.md`, in English and Chinese. Each question has an id, and an answer belongs to the
question whose id it bears (the published code goes by place, so that one answer too few moves all that follow). An
answer that says that there is none ("not mentioned.", "无法推断") counts as `UNANSWERABLE`, but only as a whole:
"political uncertainty" is an answer.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from r_eval.analysis.metrics.judge import prompt_file
from r_eval.errors import UserError
from r_eval.languages import Language, language_of

UNANSWERABLE = "<Unanswerable>"
_LONGEST_PHRASE = 80
"""Characters beyond which an answer says something."""
_ID = re.compile(r"\s{0,3}[qQ]?(?:uestion)?[\s_.-]{0,2}0{0,3}([1-9][0-9]{0,4})[\s.:]{0,2}")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The questions about one reference.

    Attributes:
        answers: From the reference, one per question; `UNANSWERABLE`, or None where it is not known.
    """

    questions: tuple[str, ...]
    answers: tuple[str | None, ...]

    @property
    def usable(self) -> bool:
        """Whether the reference answers any of them."""
        return any(answer not in (None, UNANSWERABLE) for answer in self.answers)


def questions_prompt(reference: str) -> str:
    """What the LLM is asked for questions about a reference, in its language."""
    return _filled("quest_questions", language_of(reference), text=reference)


def answers_prompt(text: str, questions: Sequence[str], language: Language) -> str:
    """What the LLM is asked for a text's answers."""
    lines = "\n".join(f"{id_}: {question}" for id_, question in zip(_ids(questions), questions, strict=True))
    return _filled("quest_answers", language, text=text, questions=lines)


def _filled(name: str, language: Language, **values: str) -> str:
    """A prompt with its $names filled in; nothing that is filled in is read for $names again."""
    return Template(prompt_file(f"{name}.{language}.md")).substitute(values)


def read_questions(reply: str) -> Sheet | None:
    """The questions in a reply, each once, still without answers; None where there are none.

    >>> read_questions('Sure:\\n```json\\n{"key_info": ["Kenya"], "questions": ["Where?", "When?"]}\\n```').questions
    ('Where?', 'When?')
    """
    found = None
    for value in _json_values(reply):
        known = value if isinstance(value, dict) else {}
        items: list[Any] = next(
            (known[key] for key in ("questions", "question") if isinstance(known.get(key), list)), []
        )
        texts = [item.get("question") if isinstance(item, dict) else item for item in items]
        questions = [" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()]
        found = Sheet(tuple(dict.fromkeys(questions)), ()) if questions else found
    return found


def read_answers(reply: str, questions: Sequence[str]) -> list[str | None]:
    """The answer to each question, `UNANSWERABLE` for what says so; None for a question whose id is not in the reply.

    Where an id comes twice, the last counts: a model may begin again.

    >>> read_answers('{"q2": "In Africa.", "q1": null}', ["Where is Oz?", "Where is Kenya?"])
    ['<Unanswerable>', 'In Africa.']
    """
    found: dict[str, str] = {}
    for value in _json_values(reply):
        for id_, answer in _answers_by_id(value):
            text = _answer_text(answer)
            if text is not None:
                found[id_] = normalised(text)
    return [found.get(id_) for id_ in _ids(questions)]


def _ids(questions: Sequence[str]) -> list[str]:
    return [f"q{number}" for number in range(1, len(questions) + 1)]


def _json_values(reply: str) -> Iterator[Any]:
    from r_eval.llms.json_text import json_values

    return (found.value for found in json_values(reply))


def _answers_by_id(value: Any, is_inside: bool = False) -> Iterator[tuple[str, Any]]:
    """Ids and answers in a value: an object of answers, a list of objects, or either within an object."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _listed(item)
    elif isinstance(value, dict):
        yield from _listed(value)
        for key, answer in value.items():
            if id_ := _id(key):
                yield id_, answer
            elif not is_inside and isinstance(answer, (dict, list)):
                yield from _answers_by_id(answer, is_inside=True)


def _listed(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    key = next((key for key in ("id", "question_id", "question") if key in item), None)
    if key is not None and "answer" in item and (id_ := _id(item[key])):
        yield id_, item["answer"]


def _id(key: object) -> str | None:
    """The id that a key means: "q1", "Q1", "1" and 1 are the same."""
    match = _ID.fullmatch(str(key)[:40]) if isinstance(key, (str, int)) and not isinstance(key, bool) else None
    return f"q{match[1]}" if match else None


def _answer_text(answer: object) -> str | None:
    if isinstance(answer, dict):
        answer = answer.get("answer")
        return _answer_text(answer) if not isinstance(answer, dict) else None
    if isinstance(answer, list):
        return ", ".join(text for text in map(_answer_text, answer) if text)
    return "" if answer is None else str(answer).lower() if isinstance(answer, bool) else str(answer)


def normalised(answer: str) -> str:
    """`UNANSWERABLE` for whatever says so as a whole, any other answer without the space around it.

    >>> normalised("The text does not mention it."), normalised("文中未提及。"), normalised(" uncertainty ")
    ('<Unanswerable>', '<Unanswerable>', 'uncertainty')
    """
    answer = answer.strip()
    says_nothing = not answer or (len(answer) <= _LONGEST_PHRASE and _letters(answer) in _phrases())
    return UNANSWERABLE if says_nothing else answer


@functools.cache
def _phrases() -> frozenset[str]:
    import yaml

    found = set()
    for parts in yaml.safe_load(prompt_file("unanswerable.yaml")).values():
        for words in itertools.product(["", *parts["leads"]], parts["cores"], ["", *parts["tails"]]):
            found.add(_letters("".join(words)))
    return frozenset(found)


def _letters(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def read_published(path: Path) -> dict[str, Sheet]:
    """The sheets of a published cache (`{ID: {"key_info": [...], "question": [...], "answers": [...]}}`), by ID.

    Its answers belong to the questions by place alone. A record whose answers are fewer than its questions has no
    answer that is sure to belong to one, so that none is known.

    Raises:
        UserError: The file cannot be read, or is not of this form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as a cache of questions: {error}") from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: expected an object of records by ID")
    sheets = {}
    for name, record in data.items():
        lists = [record.get(key) if isinstance(record, dict) else None for key in ("question", "answers")]
        if not all(isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in lists):
            raise UserError(f"{path}: record {name}: expected lists of texts called question and answers")
        questions, answers = tuple(record["question"]), tuple(record["answers"])
        is_paired = len(questions) == len(answers)
        sheets[name] = Sheet(questions, tuple(map(normalised, answers)) if is_paired else (None,) * len(questions))
    return sheets
