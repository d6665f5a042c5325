"""How metrics are found by name, checked, and computed for many answers."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from r_eval.analysis.metrics import Metric, get, get_trusted, names, registry
from r_eval.errors import UserError

OWN = '''
def shout(prediction, golds):
    """Whether it is loud."""
    return float(prediction.isupper())

def percent(prediction, golds):
    return 60.0

def text(prediction, golds):
    return "high"

def broken(prediction, golds):
    return 1 / len(golds)

class Many:
    version = 7
    def __call__(self, prediction, golds):
        return 0.0
    def batch(self, predictions, golds, questions=None):
        return [float(bool(questions))] * len(predictions)

number = 3
'''
HEAVY = ["jieba", "sacrebleu", "rouge_score", "bert_score", "torch", "transformers", "tiktoken", "scipy", "numpy"]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN, encoding="utf-8")
    return path


def test_every_metric_is_found_by_name_and_says_in_one_line_what_it_is() -> None:
    found = [get(name) for name in names()]
    assert len(found) >= 23
    assert all(isinstance(metric, Metric) and callable(metric) and metric.about.endswith(".") for metric in found)


def test_functions_and_classes_of_files_and_modules_are_metrics(own: Path) -> None:
    assert get(f"{own}:shout").scores(["LOUD", "low"], [[], []]) == [1.0, 0.0]
    assert get(f"{own}:shout").about == "Whether it is loud."
    assert get("r_eval.analysis.metrics.qa:token_f1")("x b", ["b"]) == pytest.approx(2 / 3)
    assert get(f"{own}:Many").scores(["x", "y"], [["x"], ["y"]], ["who?", "what?"]) == [1.0, 1.0]
    assert get(f"{own}:Many").version == 7


def test_a_metric_that_was_edited_since_is_run_again_and_the_object_of_a_class_is_kept(own: Path) -> None:
    assert get(f"{own}:Many").function is get(f"{own}:Many").function
    own.write_text(OWN.replace("prediction.isupper()", "0.5").replace("version = 7", "version = 8"), encoding="utf-8")
    assert (get(f"{own}:shout")("low", []), get(f"{own}:Many").version) == (0.5, 8)


def test_a_metric_of_another_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("their_f1", "r_eval.analysis.metrics.qa:token_f1", "r_eval.metrics")
    monkeypatch.setattr(registry, "_entry_points", lambda: {"their_f1": point})
    assert "their_f1" in names()
    assert get("their_f1")("a", ["a"]) == 1.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *[("token_f", "Did you mean token_f1"), ("token_f1@3", "@"), ("./none.py:f", "no such file")],
        *[("{own}:number", "is not callable"), ("{own}:nothing", "has no nothing")],
    ],
)
def test_a_name_that_is_no_metrics_is_refused(name: str, message: str, own: Path) -> None:
    with pytest.raises(UserError, match=message):
        get(name.format(own=own))


@pytest.mark.parametrize(("function", "message"), [("percent", "returned 60.0 for episode e7"), ("text", "'high'")])
def test_a_value_that_is_no_number_from_0_to_1_is_refused_by_metric_and_episode(
    own: Path, function: str, message: str
) -> None:
    with pytest.raises(UserError, match=f"{function}' returned .*expected") as caught:
        get(f"{own}:{function}").scores(["a"], [["b"]], ids=["e7"])
    assert message in str(caught.value)


def test_an_exception_in_someones_metric_names_the_metric_and_the_line(own: Path) -> None:
    with pytest.raises(UserError, match=r"own.py:broken' failed: ZeroDivisionError: .*own\.py:13"):
        get(f"{own}:broken").scores(["a"], [[]])


@pytest.mark.parametrize("name", ["judge@openai/any", "bert_score@./x", "quest_eval@e.yaml#all", "./mine.py:f", "a:b"])
def test_a_runs_folder_cannot_name_code_a_file_or_an_llm(name: str) -> None:
    with pytest.raises(UserError, match="name the metric yourself"):
        get_trusted(name)
    assert registry.filter_trusted([name, "bleu", "rouge_l@ru"]) == ["bleu", "rouge_l@ru"]


def test_what_a_person_named_is_trusted(own: Path) -> None:
    get(f"{own}:shout")
    assert get_trusted(f"{own}:shout")("A", []) == 1.0


def test_no_heavy_library_is_loaded_until_a_metric_is_used() -> None:
    code = (
        "import sys; from r_eval.analysis.metrics import get, names; [get(name) for name in names()];"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
