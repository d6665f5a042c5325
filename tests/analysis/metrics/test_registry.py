"""How metrics are found by name, and scored by the many."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from r_eval.analysis.metrics import Batched, get, names, registry, score_all
from r_eval.errors import UserError

BUILT_IN = [
    "bert_score",
    "embedding_similarity",
    "bleu",
    "exact_match",
    "judge",
    "list_f1",
    "numeric_match",
    "relaxed_f1",
    "rouge_l",
    "set_f1",
    "token_f1",
    "token_f1_published",
]
OWN = '''
def shout(prediction, golds):
    """Whether it is loud."""
    return float(prediction.isupper())

class Many:
    def __call__(self, prediction, golds):
        return 0.0
    def batch(self, predictions, golds, questions=None):
        return [float(bool(questions))] * len(predictions)

number = 3
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN, encoding="utf-8")
    return path


def test_the_built_in_metrics_are_found_by_name() -> None:
    assert set(BUILT_IN) <= set(names())
    assert all(callable(get(name)) for name in BUILT_IN)


def test_every_metric_says_in_one_line_what_it_is() -> None:
    assert all((get(name).__doc__ or "").strip() for name in BUILT_IN)


def test_an_unknown_name_is_answered_with_the_closest() -> None:
    with pytest.raises(UserError, match="Did you mean token_f1"):
        get("token_f")


def test_a_function_of_a_file_is_a_metric(own: Path) -> None:
    assert score_all(f"{own}:shout", ["LOUD", "low"], [[], []]) == [1.0, 0.0]


def test_a_function_of_a_module_is_a_metric() -> None:
    assert get("r_eval.analysis.metrics.f1:token_f1")("a b", ["b"]) == 1.0


def test_a_class_with_a_batch_is_made_and_asked_once_with_the_questions(own: Path) -> None:
    assert isinstance(get(f"{own}:Many"), Batched)
    assert score_all(f"{own}:Many", ["x", "y"], [["x"], ["y"]], ["who?", "what?"]) == [1.0, 1.0]


def test_what_is_no_function_is_refused(own: Path) -> None:
    with pytest.raises(UserError, match="is no function"):
        get(f"{own}:number")


def test_a_metric_of_another_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("their_f1", "r_eval.analysis.metrics.f1:token_f1", "r_eval.metrics")
    monkeypatch.setattr(registry, "_strangers", lambda: {"their_f1": point})
    assert "their_f1" in names()
    assert registry.get.__wrapped__("their_f1")("a", ["a"]) == 1.0


def test_a_tolerance_stands_behind_the_name() -> None:
    assert (get("numeric_match@0.05")("104", ["100"]), get("numeric_match")("104", ["100"])) == (1.0, 0.0)


@pytest.mark.parametrize("name", ["numeric_match@x", "numeric_match@2", "token_f1@3"])
def test_what_stands_behind_the_name_must_fit(name: str) -> None:
    with pytest.raises(UserError, match="@"):
        get(name)


@pytest.mark.parametrize(("name", "missing"), [("bert_score", "bert_score@FOLDER"), ("judge", "judge@LLM")])
def test_a_metric_that_needs_a_model_says_so_when_it_is_used(
    name: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("R_EVAL_BERT_MODEL", raising=False)
    with pytest.raises(UserError, match=missing):
        score_all(name, ["a"], [["b"]])


def test_scores_need_golds_for_every_prediction() -> None:
    def lengths(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> list[float]:
        return score_all("token_f1", predictions, golds)

    with pytest.raises(ValueError, match="zip"):
        lengths(["a", "b"], [["a"]])


def test_no_heavy_library_is_loaded_until_a_metric_is_used() -> None:
    heavy = [
        "jieba",
        "sacrebleu",
        "rouge_score",
        "bert_score",
        "torch",
        "transformers",
        "tiktoken",
        "scipy",
        "numpy",
        "yaml",
    ]
    code = (
        "import sys; from r_eval.analysis.metrics import get, names; [get(name) for name in names()];"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() in ("[]", "['yaml']"), "criteria are read as YAML"
