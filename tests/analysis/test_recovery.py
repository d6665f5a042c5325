"""Recovery: what agents do about calls that fail, and what the failures cost."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from r_eval.analysis.estimate import of_ratio
from r_eval.analysis.recovery import REACTIONS, Recovery, reactions, recovery
from r_eval.analysis.systems import systems
from r_eval.environments.conditions.faulty import CUT
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, Step

Make = Callable[..., Episode]
TASK = "wiki/high-freq"


def steps(letters: str) -> list[Step]:
    """Steps by letters: a capital is a call that fails, a small one the same call that does not; . is a reply."""
    found = []
    for letter in letters:
        if letter == ".":
            found.append(Step(kind="thought", text="I go on."))
            continue
        error = "temporary" if letter.isupper() else None
        told = "Call 1 failed." if error else "The capital of Kenya is Nairobi."
        found.append(
            Step(kind="call", api="Search", arguments={"entity": letter.lower()}, observation=told, error=error)
        )
    return found


@pytest.mark.parametrize(
    ("letters", "answer", "expected"),
    [
        (".A.a", "Nairobi", [("retried", True)]),
        (".A.A.a", "Nairobi", [("retried", False), ("retried", True)]),
        (".A.b", "Nairobi", [("another", False)]),
        (".A.b.a", "Nairobi", [("retried", True)]),
        (".A.", "Nairobi", [("answered", False)]),
        (".A.", "", [("stopped", False)]),
        (".Ab.", "Nairobi", [("answered", False)]),
        (".ab.", "Nairobi", []),
    ],
)
def test_what_follows_a_failure_is_a_retry_another_call_an_answer_or_the_end(
    make_episode: Make, letters: str, answer: str, expected: list[tuple[str, bool]]
) -> None:
    assert reactions(make_episode(steps=steps(letters), answer=answer)) == expected


def test_a_result_that_was_cut_off_is_a_failure(make_episode: Make) -> None:
    cut = Step(kind="call", api="Search", arguments={}, observation=f"{CUT}\nThe cap")
    assert reactions(make_episode(steps=[cut], answer="Nairobi")) == [("answered", False)]


def test_an_episode_that_gave_up_has_stopped(make_episode: Make) -> None:
    made = make_episode(steps=steps(".A."), answer="I do not know", outcome=Outcome(kind="gave_up"))
    assert reactions(made) == [("stopped", False)]


def test_a_share_is_that_of_all_calls_and_not_a_mean_over_questions() -> None:
    found = of_ratio(["a", "b"], [1, 0], [1, 9], {})
    assert found.mean == pytest.approx(0.1)


@pytest.fixture
def folder(tmp_path: Path, make_episode: Make, make_manifest: Callable[..., None]) -> Callable[..., RunFolder]:
    """A run of react from the steps of its episodes by condition; an answer is right where its last call is."""

    def made(conditions: dict[str, Sequence[str]], workflow: str = "react") -> RunFolder:
        run = RunFolder(tmp_path / "run")
        cells = [Cell(workflow, "m", condition, TASK) for condition in conditions]
        for cell in cells:
            writer = CellWriter(cell.path(run.episodes_root))
            for number, letters in enumerate(conditions[cell.condition]):
                right = letters[-1:].islower()
                one = make_episode(
                    episode_id=f"{cell.condition}{number}",
                    question_id=f"q{number}",
                    condition=cell.condition,
                    workflow=workflow,
                    llm="m",
                    steps=steps(letters.replace("!", "")),
                    answer="Nairobi" if right else "",
                    outcome=Outcome(kind="llm_failure" if "!" in letters else "finished"),
                )
                writer.append(one.model_dump_json(by_alias=True))
            writer.close()
        make_manifest(run.path, cells, max(map(len, conditions.values())), tuple(conditions))
        return run

    return made


def lines(run: RunFolder) -> list[Recovery]:
    return recovery([run], systems(run), {})


def test_calls_and_what_came_of_them_are_counted(folder: Callable[..., RunFolder]) -> None:
    (found,) = lines(folder({"clean": [".a"] * 4, "faulty": [".A.a", ".A", ".a", ".b.B.c"]}))
    assert (found.calls, found.failures, found.failed.mean) == (7, 3, pytest.approx(3 / 7))
    assert [found.counts[kind] for kind in REACTIONS] == [1, 1, 0, 1]
    assert (found.succeeded, found.success.mean) == (1, 1.0)


def test_scores_with_and_without_a_failure_stand_beside_clean_on_the_same_questions(
    folder: Callable[..., RunFolder],
) -> None:
    (found,) = lines(folder({"clean": [".a", ".a", ".a", ""], "faulty": [".A.a", ".A", ".a", ".a"]}))
    assert (found.met.episodes, found.met.score.mean, found.spared.score.mean) == (2, 0.5, 1.0)
    assert found.met.clean is not None
    assert (found.met.clean.questions, found.met.clean.mean_b, found.met.clean.difference) == (2, 1.0, -0.5)
    assert found.spared.clean is not None
    assert found.spared.clean.difference == 0.5


def test_without_clean_there_is_no_comparison(folder: Callable[..., RunFolder]) -> None:
    (found,) = lines(folder({"faulty": [".A.a", ".a"]}))
    assert (found.met.clean, found.spared.clean) == (None, None)


def test_a_condition_without_a_failure_and_a_bound_have_no_line(folder: Callable[..., RunFolder]) -> None:
    assert lines(folder({"clean": [".A.a"], "slow": [".a"]})) == []
    assert lines(folder({"faulty": [".A.a"]}, workflow="oracle")) == []


def test_an_episode_that_the_machinery_stopped_is_left_out(folder: Callable[..., RunFolder]) -> None:
    (found,) = lines(folder({"faulty": [".A.a", ".A!"]}))
    assert (found.calls, found.failures, found.met.episodes) == (2, 1, 1)
