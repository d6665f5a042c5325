"""Every view: one type a column, whatever a run holds."""

from __future__ import annotations

import pytest

from r_eval.analysis.results import Results, load
from r_eval.analysis.views import VIEWS, View
from r_eval.folder import RunFolder
from tests.analysis.answers import write_answers
from tests.analysis.test_results import published, types


@pytest.fixture(scope="module")
def folders(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    """A run, one without an episode, one without a score, and published means."""
    folder = tmp_path_factory.mktemp("views")
    empty, failed = (write_answers(folder / letters, {"react": letters}) for letters in ("oo", "xx"))
    return [load(one) for one in (run, empty, failed, published(folder / "published", "react,gpt-4,1-1,40"))]


@pytest.mark.parametrize("view", [view for view in VIEWS if view.name != "scores"], ids=lambda view: view.name)
def test_a_column_has_one_type_whatever_a_run_holds(view: View, folders: list[Results]) -> None:
    first, *others = (types(view.function(results)) for results in folders)
    assert others == [first] * 3


def test_without_episodes_nothing_is_invented(folders: list[Results]) -> None:
    names = [view.name for view in VIEWS if len(view.function(folders[1]))]
    assert names == ["scores", "averages", "task_scores", "deployment"]
