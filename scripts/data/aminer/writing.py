"""Titles, abstracts and biographies: sentences made of the words in `topics`."""

from __future__ import annotations

from .dice import Dice
from .names import METHODS, QUALITIES, SETTINGS, SYSTEMS
from .profiles import listed

_TITLES = (
    "{quality} {topic} via {method} {setting}",
    "{system}: {quality} {topic} {setting}",
    "{method} for {quality} {topic} {setting}",
    "Towards {quality} {topic} via {method}",
    "{quality} {topic} {setting}: A Study of {method}",
    "Rethinking {topic} {setting} through {method}",
    "On the Limits of {method} for {topic} {setting}",
    "{system}: {method} for {topic} {setting}",
)
_PROBLEMS = (
    "{topic} {setting} remains costly and hard to trust.",
    "Existing work on {topic} breaks down {setting}.",
    "We revisit {topic} {setting}.",
    "How far can {method} take {topic} {setting}?",
)
_ANSWERS = (
    "Our {quality} approach builds on {method}.",
    "This paper shows that {method} make the {quality} case easy.",
    "Our {quality} design replaces hand-tuned stages with {method}.",
    "We combine {method} with one {quality} procedure.",
)
_RESULTS = (
    "On {count} benchmarks it improves on the strongest baseline by {gain} percent.",
    "A study on {count} data sets shows gains of {gain} percent at equal cost.",
    "It needs {gain} percent less time on {count} public workloads.",
    "Experiments with {count} teams confirm a gain of {gain} percent.",
)
_PROPER = ("Alpine", "Bayesian", "Bloom", "Gaussian", "Markov", "Monte Carlo")


def title_and_abstract(dice: Dice, topic: str, used: set[str]) -> tuple[str, str]:
    """A title that is not among those used and contains the topic's name, and an abstract that goes with it."""
    while True:
        words = {
            "topic": topic,
            "quality": dice.pick(QUALITIES),
            "method": dice.pick(METHODS),
            "setting": dice.pick(SETTINGS),
            "system": dice.pick(SYSTEMS),
        }
        title = dice.pick(_TITLES).format_map(words)
        if title not in used:
            used.add(title)
            return title, _abstract(dice, words)


def _abstract(dice: Dice, words: dict[str, str]) -> str:
    plain = {part: _lower(text) for part, text in words.items()}
    numbers = {"count": str(dice.between(3, 14)), "gain": str(dice.between(4, 46))}
    sentences = [dice.pick(_PROBLEMS).format_map(plain), dice.pick(_ANSWERS).format_map(plain)]
    sentences.append(dice.pick(_RESULTS).format_map(numbers))
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in sentences)


def _lower(text: str) -> str:
    lower = text.lower()
    for name in _PROPER:
        lower = lower.replace(name.lower(), name)
    return lower


def biography(
    name: str,
    gender: str,
    work: list[tuple[str, str, int, int | None]],
    interests: list[str],
    doctorate: str | None,
) -> str:
    """Two or three sentences; says nothing that the other fields do not.

    `work` is oldest first: position, organisation, first year, last year (None: still there).
    """
    position, organization, since, _ = work[-1]
    article = "an" if position[0] in "AE" else "a"
    text = [
        f"{name} has been {article} {position} at {organization} since {since}, working on {listed(interests[:3])}."
    ]
    if doctorate:
        text.append(f"{'He' if gender == 'male' else 'She'} received a PhD from {doctorate}.")
    earlier = [f"{place} ({first}-{last})" for _, place, first, last in work[:-1]]
    if earlier:
        text.append(f"Earlier posts: {listed(earlier)}.")
    return " ".join(text)
