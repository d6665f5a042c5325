"""The table of further metrics, and the length of answers beside them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from r_eval.analysis.further import LENGTH, further_table
from r_eval.analysis.scoring import score_episode, score_run
from r_eval.cli.app import app
from r_eval.folder import RunFolder
from r_eval.records import Episode, Outcome

NOISY = '''
class Noisy:
    """A metric that knows no answer, and says so."""

    def __call__(self, prediction, golds):
        return float("nan")

    def told(self):
        return "noisy: 0 answers scored\\x1b[31m"
'''


def shown(run: RunFolder) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(further_table(run))
    return out.getvalue()


@pytest.fixture
def small(make_run: Callable[..., RunFolder], tmp_path: Path) -> RunFolder:
    return make_run(tmp_path / "run", questions=4)


def test_every_further_metric_of_every_cell_has_a_line(small: RunFolder) -> None:
    score_run(small, ["exact_match", "token_f1_published"])
    lines = shown(small).splitlines()
    cells = len(small.cells())
    assert [sum(name in line for line in lines) for name in ("exact_match", "token_f1_published", LENGTH)] == [
        cells
    ] * 3


def test_a_metric_is_shown_in_percent_with_its_interval_and_a_length_as_a_number(small: RunFolder) -> None:
    score_run(small, ["exact_match"])
    lines = [line for line in shown(small).splitlines() if "oracle" in line and "wiki/high-freq" in line]
    (metric,) = [line for line in lines if "exact_match" in line]
    (length,) = [line for line in lines if LENGTH in line]
    assert "100.0" in metric
    assert " to " in metric
    assert " to " not in length


def test_the_length_of_an_answer_is_in_its_score(make_episode: Callable[..., Episode]) -> None:
    assert score_episode(make_episode(answer="国家图书馆"))["characters"] == 5
    failed = make_episode(answer="", outcome=Outcome(kind="llm_failure", cause="server"))
    assert score_episode(failed)["characters"] is None


def test_what_a_metric_has_to_say_is_printed_below_the_tables(small: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY, encoding="utf-8")
    words = ["score", str(small.path), "--metric", f"{tmp_path}/noisy.py:Noisy"]
    last = CliRunner().invoke(app, words).stdout.splitlines()[-1]
    assert last.startswith("noisy: 0 answers scored")
    assert "\x1b[31m" not in last
    assert "noisy" in json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["notes"][0]
