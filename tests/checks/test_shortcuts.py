"""No surface feature of a question predicts its answer, in the embedded sets; where one does, `check` says so."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval.checks.shortcuts import GUESSERS, options_of, shortcuts
from r_eval.checks.targets import check_target
from r_eval.records import Question
from r_eval.tasks.base import installed, task_files
from r_eval.tasks.questions import write_questions

WORDS = ["Lima", "Oslo", "北京", "Кыив", "Ürümqi", "São Paulo", "القاهرة", "Rome", "New York", "Abuja"]


def question(number: int, text: str, *answers: str, **meta: object) -> Question:
    return Question(id=f"q{number}", question=text, answers=list(answers), level="KS", meta=meta)


def fixed_place(chance: random.Random) -> Iterator[Question]:
    """Each phrasing has the right option at a place of its own."""
    for n in range(60):
        options = chance.sample(WORDS, 6)
        start, place = [("Which of these is it", 1), ("Among these, choose", 4)][n % 2]
        yield question(n, f"{start}: {', '.join(options[:-1])} or {options[-1]}?", options[place])


def shared_words(chance: random.Random) -> Iterator[Question]:
    for n in range(60):
        options = chance.sample(WORDS, 5)
        text = f"The river town of {options[2]} is meant here; which is it? {' or '.join(options)}"
        yield question(n, text, options[2], options=chance.sample(options, 5))


def longest_option(chance: random.Random) -> Iterator[Question]:
    for n in range(60):
        longest = "a very long option" if n % 3 else "dddddd"
        yield question(n, f"Which is it, {n}?", longest, options=chance.sample(["a", "bb", longest, "ccc"], 4))


def by_parity(text: str, answer: str) -> Callable[[random.Random], Iterator[Question]]:
    """Questions whose wording and answer depend on whether a number is odd."""
    return lambda chance: (
        question(n, text.format(n=n, odd=["Does", "Is"][n % 2], pad="So it is " * (1 + 5 * (n % 2))), answer[n % 2])
        for n in range(60)
    )


@pytest.mark.parametrize(
    ("make", "guesser"),
    [
        (fixed_place, "place of the option"),
        (by_parity("{odd} it {n}?", "NY"), "first word"),
        (by_parity("Thing {n}, true of all, {odd}?", "NY"), "last three words"),
        (by_parity("Thing {n}, {odd} so?", "NY"), "last two words"),
        (by_parity("{pad}{n}?", "NY"), "length of the question"),
        (longest_option, "length of the option"),
        (shared_words, "words shared with the option"),
    ],
)
def test_each_shortcut_is_found_by_its_guesser(
    make: Callable[[random.Random], Iterator[Question]], guesser: str
) -> None:
    found = {one.guesser for one in shortcuts({"x": [*make(random.Random(0))]}) if one.found}
    assert guesser in found


STATEMENTS = ["Is it true that every {} {}?", "Somebody claims: every {} {}. Is that so, yes or no?"]
SUBJECTS = ["noble gas", "river", "Turkic language", "chemist", "novel", "sea", "old city", "film"]
PREDICATES = ["has a full shell", "proves theorems", "flows", "is set in a war", "lies north of it", "has won a prize"]


def statements(leaks: Callable[[str, str], bool]) -> list[Question]:
    """Every predicate of every subject, twice, each in a wording of its own."""
    pairs = [(one, other) for one in SUBJECTS for other in PREDICATES] * 2
    texts = [STATEMENTS[n % 5 % 2].format(*pair) for n, pair in enumerate(pairs)]
    return [question(n, text, "NY"[leaks(*pair)]) for n, (text, pair) in enumerate(zip(texts, pairs, strict=True))]


@pytest.mark.parametrize(
    ("leaks", "guesser"),
    [
        (lambda subject, predicate: SUBJECTS.index(subject) % 2, "subject"),
        (lambda subject, predicate: PREDICATES.index(predicate) % 2, "predicate"),
        (lambda subject, predicate: PREDICATES.index(predicate) % 2, "predicate's end"),
        (lambda subject, predicate: SUBJECTS.index(subject) % 2, "longest phrase"),
    ],
)
def test_a_part_of_a_statement_that_tells_whether_it_is_true_is_found(
    leaks: Callable[[str, str], bool], guesser: str
) -> None:
    found = [one.guesser for one in shortcuts({"x": statements(leaks)}) if one.found]
    assert any(name.startswith(guesser) for name in found), found


def test_a_statement_whose_parts_tell_nothing_passes() -> None:
    balanced = statements(lambda one, other: (SUBJECTS.index(one) + PREDICATES.index(other)) % 2)
    assert [one for one in shortcuts({"x": [q for n, q in enumerate(balanced) if n < 48]}) if one.found] == []


def by_chance(chance: random.Random) -> Iterator[Question]:
    for n in range(200):
        options = chance.sample(WORDS, 5)
        yield question(n, f"Which one, {n}: {', '.join(options[:-1])} or {options[-1]}?", chance.choice(options))


def mostly_no(chance: random.Random) -> Iterator[Question]:
    return (question(n, f"Is {n} so?", "no" if n % 10 else "yes") for n in range(200))


@pytest.mark.parametrize(("make", "seed"), [(by_chance, 0), (by_chance, 1), (mostly_no, 0)])
def test_none_is_found_where_there_is_none(make: Callable[[random.Random], Iterator[Question]], seed: int) -> None:
    assert [one for one in shortcuts({"x": [*make(random.Random(seed))]}) if one.found] == []


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Which is larger: Lima, Oslo or Rome?", ["Lima", "Oslo", "Rome"]),
        ("哪个更大：北京、上海还是南京？", ["北京", "上海", "南京"]),
        ("Что больше: Киев, Минск или Рига?", ["Киев", "Минск", "Рига"]),
        ("How old is Ada?", []),
    ],
)
def test_options_are_read_from_the_text_where_the_question_does_not_list_them(text: str, options: list[str]) -> None:
    assert options_of(question(0, text, "x")) == options


def test_no_embedded_set_has_a_shortcut() -> None:
    names = [name for name in task_files() if name.startswith(("wiki/", "aminer/"))]
    sets = {name: [*installed(name).questions, *installed(name).demonstrations] for name in names}
    tried = shortcuts(sets)
    assert len(tried) == len(names) * len(GUESSERS)
    assert [one for one in tried if one.found] == []


@pytest.mark.parametrize("name", ["questions.jsonl", "questions.csv"])
def test_check_says_what_leaks(tmp_path: Path, name: str) -> None:
    made = [*fixed_place(random.Random(1))]
    write_questions(tmp_path / "questions.jsonl", made)
    lines = (f'"{one.question}",{one.answers[0]}\n' for one in made)
    (tmp_path / "questions.csv").write_text("question,answer\n" + "".join(lines), encoding="utf-8")
    (finding,) = [one for one in check_target(str(tmp_path / name)) if "guesser" in one.what]
    assert finding.severity == "warning"
    assert finding.what.startswith("a guesser that sees the place of the option alone answers ")
