"""`r-eval new domain`: the project that it writes, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from r_eval import Grid, run
from r_eval.errors import UserError
from r_eval.scaffold import new_domain
from r_eval.scaffold.project import identifiers

R_EVAL = Path(sys.executable).with_name("r-eval")


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(R_EVAL), *words], cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


def test_a_project_has_all_that_a_run_needs(tmp_path: Path) -> None:
    folder = new_domain("recipes", tmp_path / "recipes")
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "grid.yaml",
        "questions.jsonl",
        "recipes.json",
        "recipes.py",
        "templates.yaml",
        "test_recipes.py",
    ]
    assert list(tmp_path.iterdir()) == [folder]


def test_the_oracle_scores_100_on_the_projects_questions(tmp_path: Path) -> None:
    grid = Grid.load(new_domain("recipes", tmp_path / "recipes") / "grid.yaml")
    grid = grid.model_copy(update={"samples": None, "shots": 0, "workflows": grid.workflows[-1:]})
    frame = run(grid, tmp_path / "run").to_pandas()
    assert (len(frame), frame["score"].min(), set(frame["response_type"])) == (20, 1.0, {"EM"})


def test_the_projects_questions_are_what_its_templates_make(tmp_path: Path) -> None:
    folder = new_domain("recipes", tmp_path / "recipes")
    shipped = (folder / "questions.jsonl").read_bytes()
    done = typed(folder, "generate", "templates.yaml", "--count", "20", "--seed", "0", "--out", "questions.jsonl")
    assert done.returncode == 0, done.stderr
    assert (folder / "questions.jsonl").read_bytes() == shipped


def test_the_projects_own_test_passes_under_another_name(tmp_path: Path) -> None:
    folder = new_domain("my-shop", tmp_path / "shop")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "41 passed" in done.stdout, done.stdout


def test_questions_of_all_three_levels(tmp_path: Path) -> None:
    text = (new_domain("recipes", tmp_path / "recipes") / "templates.yaml").read_text(encoding="utf-8")
    assert [text.count(f"level: {level}") for level in ("KS", "KU", "KA")] == [1, 2, 2]


@pytest.mark.parametrize(
    ("name", "module", "class_name"),
    [
        ("recipes", "recipes", "Recipes"),
        ("my-recipes", "my_recipes", "MyRecipes"),
        ("my_shop 2", "my_shop_2", "MyShop2"),
        ("myDomain", "mydomain", "MyDomain"),
    ],
)
def test_a_name_is_made_an_identifier(name: str, module: str, class_name: str) -> None:
    assert identifiers(name) == {"module": module, "class_name": class_name}


@pytest.mark.parametrize(
    "name",
    [
        *("", "2fast", "-x", "a/b", "../up", "a--b", "käse", "x" * 51, "a.b", "a\n"),
        *("json", "class", "none", "pytest", "path", "Environment", "not-found", "dish-details"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_and_nothing_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="cannot be a domain's name"):
        new_domain(name)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert (new_domain("recipes", tmp_path / "empty") / "recipes.py").is_file()


@pytest.mark.parametrize("inside", ["folder", "file"])
def test_what_is_there_already_is_left_alone(tmp_path: Path, inside: str) -> None:
    there = tmp_path / "recipes"
    if inside == "folder":
        there.mkdir()
        (there / "mine.txt").write_text("mine", encoding="utf-8")
    else:
        there.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="is there already"):
        new_domain("recipes", there)
    assert [p.name for p in tmp_path.rglob("*")] == (["recipes", "mine.txt"] if inside == "folder" else ["recipes"])


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written"):
        new_domain("recipes", tmp_path / "file" / "recipes")


def test_the_command_says_what_it_wrote_and_what_comes_next(tmp_path: Path) -> None:
    done = typed(tmp_path, "new", "domain", "my-recipes")
    assert done.returncode == 0, done.stderr
    assert "my-recipes/my_recipes.py\n" in done.stdout
    assert done.stdout.endswith("next: cd my-recipes && r-eval run grid.yaml\n")


def test_another_kind_than_domain_is_refused(tmp_path: Path) -> None:
    done = typed(tmp_path, "new", "planet", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown kind 'planet'. Known: domain" in done.stderr


def test_templates_that_give_no_question_write_nothing(tmp_path: Path) -> None:
    folder = new_domain("recipes", tmp_path / "recipes")
    text = (folder / "templates.yaml").read_text(encoding="utf-8").partition("  - id: dish-of-ing")[0]
    (folder / "bad.yaml").write_text(text.replace("find_dish(name", "find_dish(nome"), encoding="utf-8")
    done = typed(folder, "generate", "bad.yaml", "--out", "out.jsonl")
    assert done.returncode == 2
    assert "no question came of it; dropped: 30 program: bad_arguments" in done.stderr
    assert not (folder / "out.jsonl").exists()


def test_templates_take_an_environment_from_the_command_line(tmp_path: Path) -> None:
    folder = new_domain("recipes", tmp_path / "recipes")
    text = (folder / "templates.yaml").read_text(encoding="utf-8").replace("./recipes.py:Recipes", "wiki")
    (folder / "other.yaml").write_text(text, encoding="utf-8")
    words = ("generate", "recipes/other.yaml", "--count", "3", "--out", "out.jsonl")
    done = typed(tmp_path, *words, "--environment", "recipes/recipes.py:Recipes")
    assert done.stdout.startswith("out.jsonl: 3 questions; dropped: "), done.stderr


def test_fewer_questions_than_wanted_are_said(tmp_path: Path) -> None:
    folder = new_domain("recipes", tmp_path / "recipes")
    done = typed(folder, "generate", "templates.yaml", "--count", "500", "--out", "out.jsonl")
    assert done.returncode == 0
    assert "the records give no more than" in done.stderr


def test_an_environment_that_fails_is_one_sentence(tmp_path: Path) -> None:
    folder = new_domain("recipes", tmp_path / "recipes")
    module = (folder / "recipes.py").read_text(encoding="utf-8")
    (folder / "recipes.py").write_text(module.replace("raise NotFound(f", "raise OSError(f"), encoding="utf-8")
    text = (
        (folder / "templates.yaml").read_text(encoding="utf-8").replace('find_dish(name=dish["name"])', 'find_dish("")')
    )
    (folder / "templates.yaml").write_text(text, encoding="utf-8")
    done = typed(folder, "generate", "templates.yaml", "--out", "out.jsonl")
    assert done.returncode == 2
    assert "templates.yaml: the environment failed: find_dish failed: OSError: No dish" in done.stderr
