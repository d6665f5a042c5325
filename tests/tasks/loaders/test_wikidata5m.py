"""Wikidata5M: questions about single facts, by how often their subject occurs."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import Data, load

NAMES = {1: "Sund\tKingdom of Sund", 2: "Ostholm\tHolm", 3: "Varn", 4: "Lund", 5: "Ada Byron", 6: "poet", 7: "writer"}
TRIPLES: list[tuple[str, ...]] = [
    ("Q1", "P36", "Q4"),  # Sund: in six triples
    ("Q1", "P150", "Q3"),
    ("Q1", "P150", "Q2"),
    ("Q2", "P17", "Q1"),
    ("Q3", "P17", "Q1"),
    ("Q4", "P17", "Q1"),
    ("Q5", "P106", "Q6"),  # Ada Byron: in two
    ("Q5", "P106", "Q7"),
]


class Archive:
    """The files of the published archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.aliases = folder / "wikidata5m_entity.txt"
        self.triples = folder / "wikidata5m_all_triplet.txt"
        self.aliases.write_text("".join(f"Q{n}\t{names}\n" for n, names in NAMES.items()), encoding="utf-8")
        self.write(TRIPLES)

    def write(self, triples: list[tuple[str, ...]]) -> None:
        self.triples.write_text("".join("\t".join(row) + "\n" for row in triples), encoding="utf-8")

    def load(self, samples: int | None = None, **settings: str) -> Data:
        return load(self.triples, "wikidata5m", settings={"aliases": str(self.aliases), **settings}, samples=samples)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


@pytest.mark.parametrize(
    ("id", "question", "answers"),
    [
        ("Q1-P36", "What is the capital of Sund?", ["Lund"]),
        ("Q2-P17", "In which country is Ostholm?", ["Sund", "Kingdom of Sund"]),
        ("Q5-P106", None, ["poet;writer"]),
    ],
)
def test_a_fact_is_asked_about_with_the_phrase_of_its_relation(
    archive: Archive, id: str, question: str | None, answers: list[str]
) -> None:
    found = next(q for q in archive.load().questions if q.id == id)
    assert (found.question, found.answers, found.level) == (question or found.question, answers, "KS")


@pytest.mark.parametrize(("frequency", "subjects"), [("high", {"Q1"}), ("low", {"Q2", "Q3", "Q4", "Q5"})])
def test_subjects_are_chosen_by_how_often_they_occur(archive: Archive, frequency: str, subjects: set[str]) -> None:
    assert {q.meta["subject"] for q in archive.load(frequency=frequency).questions} == subjects


@pytest.mark.parametrize(
    ("row", "why"),
    [(("Q1", "P99999", "Q2"), "no phrase for the relation"), (("Q1", "P37", "Q88"), "an entity has no name")],
)
def test_what_cannot_be_worded_is_passed_over_and_counted(archive: Archive, row: tuple[str, ...], why: str) -> None:
    archive.write([*TRIPLES, row])
    assert archive.load().skipped == {why: 1}


def test_a_pair_with_more_objects_than_anybody_would_list_is_left_out(archive: Archive) -> None:
    more = {n: f"Isle {n}" for n in range(100, 121)}
    with archive.aliases.open("a", encoding="utf-8") as file:
        file.writelines(f"Q{n}\t{name}\n" for n, name in more.items())
    archive.write([("Q1", "P36", "Q4"), *(("Q1", "P150", f"Q{n}") for n in more)])
    data = archive.load()
    assert [q.id for q in data.questions] == ["Q1-P36"]
    assert data.skipped == {"more than 20 answers": 1}


@pytest.mark.parametrize("row", [("Q1", "P36"), ("Q1", "P36", "Q" + "9" * 30), ("Q²", "P1", "Q1")])
def test_a_line_that_is_no_triple_is_broken(archive: Archive, row: tuple[str, ...]) -> None:
    archive.write([*TRIPLES * 20, row])
    data = archive.load()
    assert (data.n_broken, len(data.questions)) == (1, 6)


def test_the_names_are_needed(archive: Archive) -> None:
    with pytest.raises(UserError, match="format 'wikidata5m': the key aliases is missing"):
        load(archive.triples, "wikidata5m")
