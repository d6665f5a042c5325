"""Retrieval of an episode: what counts as found, what each metric is, and where nothing is known."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.retrieval import RETRIEVAL, Rights, by_ids, document, documents
from r_eval.analysis.scoring import score_episode, score_run
from r_eval.errors import UserError
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, Question, Step

Make = Callable[..., Episode]
MakeCall = Callable[..., Step]
MakeManifest = Callable[..., None]

NAMES = [f"{letter}{number}" for letter in ("d", "文", "a#") for number in range(6)]
passages = st.builds(lambda name, chunk: f"{name}#{chunk}", st.sampled_from(NAMES), st.integers(1, 4))
calls = st.lists(st.lists(passages, max_size=6), max_size=4)
rights = st.sets(st.sampled_from(NAMES), min_size=1, max_size=5)


def search(*found: str, **changes: Any) -> Step:
    """A call that found these passages."""
    fields = {"api": "retrieve", "observation": "; ".join(found), "found": list(found), **changes}
    return Step(kind="call", **fields)


def measured(found: list[list[str]], right: set[str]) -> dict[str, float]:
    made = by_ids([search(*one) for one in found], right, sum(map(bool, found)))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("passage", "expected"),
    [("news#1", "news"), ("a#7#12", "a#7"), ("news", "news"), ("C#", "C#"), ("F#major", "F#major"), ("#3", "#3")],
)
def test_a_passage_is_cut_at_the_last_number_sign(passage: str, expected: str) -> None:
    assert document(passage) == expected


def test_chunks_of_a_document_are_found_once_at_the_first_rank() -> None:
    assert documents([search("b#3", "a#1", "b#1"), search("a#2", "c#1")]) == ["b", "a", "c"]


def test_a_call_that_was_refused_found_nothing() -> None:
    assert documents([search("a#1", error="bad_arguments"), Step(kind="observation", text="b#1")]) == []


def test_the_metrics_are_taken_at_the_number_of_documents_found() -> None:
    found = measured([["x#1", "a#1"], ["a#2", "y#1", "b#1"]], {"a", "b", "c"})
    ideal = 1 + 1 / 1.584962500721156 + 1 / 2
    gain = 1 / 1.584962500721156 + 1 / 2.321928094887362
    assert found == pytest.approx(
        {"recall": 2 / 3, "hit_rate": 1.0, "precision": 2 / 4, "mrr": 1 / 2, "ndcg": gain / ideal}
    )


def test_a_system_that_did_not_search_is_at_0() -> None:
    assert by_ids([Step(kind="thought", text="I know this.")], {"a"}, 0) == dict.fromkeys(RETRIEVAL, 0.0)


def test_a_search_that_found_nothing_is_at_0() -> None:
    assert measured([[]], {"a"}) == dict.fromkeys(RETRIEVAL, 0.0)


def test_of_calls_that_return_texts_without_ids_nothing_is_known() -> None:
    assert by_ids([search(observation="A text.")], {"a"}, 1) is None


@given(calls, st.lists(passages, max_size=4), rights)
def test_more_found_never_lowers_recall_or_the_hit_rate(
    found: list[list[str]], more: list[str], right: set[str]
) -> None:
    before, after = measured(found, right), measured([*found, more], right)
    assert after["recall"] >= before["recall"]
    assert after["hit_rate"] >= before["hit_rate"]


@given(calls, rights, st.randoms(use_true_random=False))
def test_the_order_matters_to_ndcg_and_mrr_only(found: list[list[str]], right: set[str], dice: random.Random) -> None:
    mixed = [dice.sample(one, len(one)) for one in found]
    dice.shuffle(mixed)
    before, after = measured(found, right), measured(mixed, right)
    for name in ("recall", "hit_rate", "precision"):
        assert before[name] == after[name]


@given(calls, rights)
def test_how_the_calls_are_divided_does_not_matter(found: list[list[str]], right: set[str]) -> None:
    assert measured([[passage for one in found for passage in one]], right) == measured(found, right)


@given(calls, rights)
def test_every_metric_is_from_0_to_1_and_all_are_0_together(found: list[list[str]], right: set[str]) -> None:
    values = measured(found, right)
    assert all(0 <= value <= 1 + 1e-12 for value in values.values())
    assert len({value > 0 for value in values.values()}) == 1


def test_the_score_records_of_random_episodes_agree_with_trec_eval(make_episode: Make) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
    dice = random.Random(3)
    for number in range(300):
        name = f"q{number}"
        found = [
            [f"{dice.choice(NAMES)}#{dice.randint(1, 3)}" for _ in range(dice.randint(0, 6))]
            for _ in range(dice.randint(1, 3))
        ]
        right = set(dice.sample(NAMES, dice.randint(1, 5)))
        record = score_episode(
            make_episode(question_id=name, steps=[search(*one) for one in found]), right={name: right}
        )
        ranked = list(dict.fromkeys(passage.rpartition("#")[0] for one in found for passage in one))
        k = max(1, len(ranked))
        wanted = {f"success.{k}", f"recall.{k}", f"P.{k}", f"ndcg_cut.{k}", "recip_rank"}
        evaluator = pytrec_eval.RelevanceEvaluator({name: dict.fromkeys(right, 1)}, wanted)
        theirs = evaluator.evaluate({name: {one: float(-rank) for rank, one in enumerate(ranked)}}).get(name, {})
        keys = (f"recall_{k}", f"success_{k}", f"P_{k}", "recip_rank", f"ndcg_cut_{k}")
        expected = {ours: theirs.get(key, 0.0) for ours, key in zip(RETRIEVAL, keys, strict=True)}
        assert record["retrieval"] == pytest.approx(expected, abs=1e-12)


def test_named_evidence_has_recall_and_hit_rate_and_no_ranks(make_episode: Make, make_call: MakeCall) -> None:
    made = make_episode(evidence=["1963", "Lamu"], steps=[make_call("Independent since 1963.")])
    expected = {"recall": 0.5, "hit_rate": 1.0, "precision": None, "mrr": None, "ndcg": None}
    assert score_episode(made, right={})["retrieval"] == expected


@pytest.mark.parametrize("taxonomy", ["strict", "published"])
def test_the_taxonomy_does_not_change_how_much_was_found(
    make_episode: Make, make_call: MakeCall, taxonomy: str
) -> None:
    made = make_episode(evidence=["1963", "Lamu"], steps=[make_call("Independent since 1963.")])
    record = score_episode(made, taxonomy=taxonomy, right={})
    assert (record["retrieval"]["recall"], record["retrieval"]["hit_rate"]) == (0.5, 1.0)


def test_ids_come_before_texts(make_episode: Make) -> None:
    made = make_episode(evidence=["1963", "Lamu"], steps=[search("a#1")])
    assert score_episode(made, right={"q1": ["a"]})["retrieval"]["recall"] == 1.0


def test_texts_are_judged_where_the_calls_name_no_ids(make_episode: Make, make_call: MakeCall) -> None:
    made = make_episode(evidence=["1963"], steps=[make_call("Independent since 1963.")])
    record = score_episode(made, right={"q1": ["a"]})
    assert (record["retrieval"]["recall"], record["retrieval"]["mrr"]) == (1.0, None)


def test_without_anything_that_is_right_nothing_is_known(make_episode: Make) -> None:
    assert score_episode(make_episode(steps=[search("a#1")]), right={})["retrieval"] is None


def test_a_system_without_searches_of_its_own_has_no_retrieval(make_episode: Make) -> None:
    assert score_episode(make_episode(evidence=["Nairobi"]))["retrieval"] is None


def test_an_episode_that_the_machinery_stopped_has_no_retrieval(make_episode: Make) -> None:
    made = make_episode(outcome=Outcome(kind="llm_failure"), steps=[search("a#1")])
    assert score_episode(made, right={"q1": ["a"]})["retrieval"] is None


def test_the_published_taxonomy_is_the_same_with_the_right_documents_known(make_episode: Make) -> None:
    made = make_episode(answer="Mombasa", steps=[search("a#1", observation="Nothing.")])
    one, other = (score_episode(made, taxonomy="published", right=right) for right in ({"q1": ["a"]}, {"q1": ["b"]}))
    kept = ("response_type", "supported", "undecided", "cause")
    assert [one[name] for name in kept] == [other[name] for name in kept] == ["RE", False, False, "stopped_short"]


def write(path: Path, make_manifest: MakeManifest, make: Make, meta: dict[str, Any]) -> RunFolder:
    """A run of two systems and a bound, whose every episode found a#1; the questions carry a meta."""
    run = RunFolder(path)
    cells = [Cell(workflow, "m", "clean", "wiki/high-freq") for workflow in ("direct", "perfect", "rag")]
    make_manifest(path, cells, 1)
    manifest = json.loads(run.run_file.read_text(encoding="utf-8"))
    manifest["systems"][1]["bound"] = True
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")
    asked = Question(id="q1", question="Which?", answers=["Nairobi"], level="KS", meta=meta)
    run.questions_file("wiki/high-freq").parent.mkdir()
    run.questions_file("wiki/high-freq").write_text(asked.model_dump_json() + "\n", encoding="utf-8")
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        writer.append(make(workflow=cell.workflow, llm="m", steps=[search("a#1")]).model_dump_json(by_alias=True))
        writer.close()
    return run


def test_a_run_is_scored_by_the_right_documents_of_its_questions_and_its_bounds_are_not(
    tmp_path: Path, make_manifest: MakeManifest, make_episode: Make
) -> None:
    run = write(tmp_path / "run", make_manifest, make_episode, {"text_ids": ["a", "b"]})
    score_run(run)
    found = {cell.workflow: next(iter(run.scores(cell).values()))["retrieval"] for cell in run.cells()}
    assert (found["direct"], found["perfect"], found["rag"]["recall"]) == (None, None, 0.5)


def test_right_documents_that_are_no_ids_are_an_error_that_names_the_question(
    tmp_path: Path, make_manifest: MakeManifest, make_episode: Make
) -> None:
    run = write(tmp_path / "run", make_manifest, make_episode, {"text_ids": {"a": 1}})
    with pytest.raises(UserError, match=r"question 'q1': meta\.text_ids"):
        score_run(run)


def test_a_question_without_right_documents_is_not_among_them(
    tmp_path: Path, make_manifest: MakeManifest, make_episode: Make
) -> None:
    run = write(tmp_path / "run", make_manifest, make_episode, {})
    assert Rights(run).of("wiki/high-freq") == {}
