"""Shortcuts: whether questions can be answered from their surface, without knowing or looking anything up.

Simple guessers learn from half of a set and are tried on the other half: the place of the right option, the question's
first or last words, its subject or predicate, its length, the words that an option shares with the question. Chance is
the better of choosing uniformly among the options and of always giving the set's commonest answer. A guesser that beats
it at 5 % (one-sided binomial test, Holm over all guessers and sets that are looked at together) has found a shortcut.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import re
from collections.abc import Callable, Hashable, Mapping, Sequence

from r_eval.records import Question

Guess = Callable[[Question], str | None]
Guesser = Callable[[Sequence[Question]], Guess]
ALPHA = 0.05
FEWEST = 20
"""Questions of a set below which nothing is said."""
LENGTHS = 5
"""Groups of questions by length."""
COMMON = 0.2
"""Share of a set's questions beyond which a word belongs to their phrasing."""
LONGEST_PHRASE, LAST_WORDS = 8, 40
"""Words of a phrase that questions share, and of a question's end in which it is looked for."""
SEPARATOR = re.compile(r"[,;:?!、，；：？]|\bor\b|\band\b|或|还是|\bили\b", re.IGNORECASE)
WORD = re.compile(r"\w+")


@dataclasses.dataclass(frozen=True, slots=True)
class Shortcut:
    """How often a guesser was right on the questions that it had not learnt from.

    Attributes:
        chance: The share that needs no shortcut, 0 to 1.
        p: One-sided, before any correction.
        found: Whether it beats chance, after the correction.
    """

    set: str
    guesser: str
    right: int
    questions: int
    chance: float
    p: float
    found: bool = False

    def text(self) -> str:
        """How often the guesser was right, in words."""
        share = (
            f"{self.right} of {self.questions} questions ({self.right / self.questions:.0%}, chance {self.chance:.0%})"
        )
        return f"a guesser that sees the {self.guesser} alone answers {share}"


def shortcuts(sets: Mapping[str, Sequence[Question]], alpha: float = ALPHA) -> list[Shortcut]:
    """What each guesser makes of each set of questions, by the set's name; small sets are left out."""
    large = {name: questions for name, questions in sets.items() if len(questions) >= FEWEST}
    tried = [_tried(name, guesser, questions) for name, questions in large.items() for guesser in GUESSERS]
    order = sorted(range(len(tried)), key=lambda place: tried[place].p)
    for rank, place in enumerate(order):
        if tried[place].p > alpha / (len(order) - rank):
            break
        tried[place] = dataclasses.replace(tried[place], found=True)
    return tried


def _tried(name: str, guesser: str, questions: Sequence[Question]) -> Shortcut:
    from scipy.stats import binomtest

    ordered = sorted(questions, key=lambda q: hashlib.blake2b(q.id.encode(), digest_size=8).digest())
    half = len(ordered) // 2
    guess = GUESSERS[guesser](ordered[:half])
    tested = [q for q in ordered[half:] if _suits(guesser, q)]
    if not tested:
        return Shortcut(name, guesser, 0, 0, 1.0, 1.0)
    right = sum(_is_right(guess(q), q) for q in tested)
    uniform = sum(1 / len(o) for q in tested if len(o := options_of(q)) > 1) / len(tested)
    answers = collections.Counter(answer for q in questions for answer in set(map(_key, q.answers)))
    chance = min(1.0, max(uniform, answers.most_common(1)[0][1] / len(questions)))
    p = float(binomtest(right, len(tested), chance, alternative="greater").pvalue)
    return Shortcut(name, guesser, right, len(tested), chance, p)


def _suits(guesser: str, question: Question) -> bool:
    if guesser in CHOOSING:
        return len(options_of(question)) > 1
    return guesser not in OPEN or "options" not in question.meta


def options_of(question: Question) -> list[str]:
    """The options of a question in the order in which it names them: `meta.options`, else the parts of a list in it."""
    known = question.meta.get("options")
    if isinstance(known, list):
        return [str(option) for option in known]
    parts = [part.strip(" \"'“”«»()。.") for part in SEPARATOR.split(question.question)]
    return [part for part in parts if part][1:]


def _by_place(questions: Sequence[Question]) -> Guess:
    """The option at the place that was right most often after the same first word, from the front or the back."""
    votes: dict[Hashable, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    for question in questions:
        options = options_of(question)
        for place in (n for n, option in enumerate(options) if _is_right(option, question)):
            for key in (_words(question.question)[:1], []):
                votes[str(key)].update((place, place - len(options)))

    def guess(question: Question) -> str | None:
        options = options_of(question)
        counts = votes.get(str(_words(question.question)[:1])) or votes[str([])]
        places = [place for place, _ in counts.most_common() if -len(options) <= place < len(options)]
        return options[places[0]] if places else None

    return guess


def _by(keys: Callable[[list[str]], Sequence[Hashable]], content: bool = False) -> Guesser:
    """The commonest answer of the questions that share the first key that is known, of the keys of a question's words.

    Args:
        content: Whether the keys are of the words alone that few of the questions have.
    """

    def learn(questions: Sequence[Question]) -> Guess:
        numbers = collections.Counter(word for q in questions for word in set(_words(q.question)))
        common = {word for word, number in numbers.items() if content and number > COMMON * len(questions)}
        answers: dict[Hashable, collections.Counter[str]] = collections.defaultdict(collections.Counter)

        def known(question: Question) -> list[Hashable]:
            return [*keys([word for word in _words(question.question) if word not in common]), None]

        for question in questions:
            for key in dict.fromkeys(known(question)):
                answers[key].update(question.answers)

        def guess(question: Question) -> str | None:
            counts = next((answers[key] for key in known(question) if key in answers), None)
            return counts.most_common(1)[0][0] if counts else None

        return guess

    return learn


def _by_length(questions: Sequence[Question]) -> Guess:
    def letters(words: Sequence[str]) -> int:
        return sum(map(len, words))

    lengths = sorted(letters(_words(q.question)) for q in questions)
    ends = [lengths[len(lengths) * n // LENGTHS] for n in range(1, LENGTHS)]
    return _by(lambda words: [sum(letters(words) >= end for end in ends)])(questions)


def _phrases(words: list[str]) -> list[tuple[str, ...]]:
    """All runs of words, the longest first."""
    words = words[-LAST_WORDS:]
    return [
        tuple(words[at : at + size]) for size in range(LONGEST_PHRASE, 0, -1) for at in range(len(words) - size + 1)
    ]


def _extreme(measure: Callable[[str, Question], int]) -> Guesser:
    """The option with most of something, or with least, whichever was right more often."""

    def learn(questions: Sequence[Question]) -> Guess:
        def guess(question: Question, sign: int) -> str | None:
            return max(options_of(question), key=lambda option: sign * measure(option, question), default=None)

        best = max((1, -1), key=lambda sign: sum(_is_right(guess(q, sign), q) for q in questions))
        return lambda question: guess(question, best)

    return learn


def _overlap(option: str, question: Question) -> int:
    rest = collections.Counter(_words(question.question))
    rest.subtract(word for other in options_of(question) for word in _words(other))
    return sum(rest[word] > 0 for word in set(_words(option)))


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _key(text: str) -> str:
    return " ".join(_words(text))


def _is_right(answer: str | None, question: Question) -> bool:
    return answer is not None and any(_key(answer) == _key(gold) for gold in question.answers)


GUESSERS: dict[str, Guesser] = {
    "place of the option": _by_place,
    "first word": _by(lambda words: [tuple(words[:1])]),
    "first three words": _by(lambda words: [tuple(words[:3])]),
    "last word": _by(lambda words: [tuple(words[-1:])]),
    "last two words": _by(lambda words: [tuple(words[-2:])]),
    "last three words": _by(lambda words: [tuple(words[-3:])]),
    "subject (the first word that few questions have)": _by(lambda words: [tuple(words[:1])], content=True),
    "predicate (the last two words that few questions have)": _by(lambda words: [tuple(words[-2:])], content=True),
    "predicate's end (the last word that few questions have)": _by(lambda words: [tuple(words[-1:])], content=True),
    "longest phrase shared with another question": _by(_phrases, content=True),
    "length of the question": _by_length,
    "length of the option": _extreme(lambda option, question: len(option)),
    "words shared with the option": _extreme(_overlap),
}
CHOOSING = ("place of the option", "length of the option", "words shared with the option")
"""Guessers that choose among options: they are tried on questions that have some."""
OPEN = ("longest phrase shared with another question",)
"""Guessers for questions that list no options: what a question says of its options is what decides between them."""
