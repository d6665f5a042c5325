"""No module of R-Eval can run what it reads: the functions that do that are nowhere in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("analysis", "environments", "r_eval", "tasks", "workflows")
CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads", "pickle.Unpickler",
    "marshal.load", "marshal.loads", "shelve.open", "dill.load", "joblib.load", "yaml.load", "yaml.load_all",
    "yaml.unsafe_load", "yaml.full_load", "yaml.Loader", "yaml.UnsafeLoader", "torch.load", "pandas.read_pickle",
    "subprocess.getoutput", "subprocess.getstatusoutput", "commands.getoutput", "asyncio.create_subprocess_shell",
    "tempfile.mktemp", "shutil.unpack_archive", "pandas.eval",
}  # fmt: skip
LAST = {name.rpartition(".")[2] for name in CALLS}
METHODS = {"extractall", "read_pickle"}
"""Of archives and frames, whatever the object is called."""
KEYWORDS = {"shell", "allow_pickle", "trust_remote_code"}
ALLOWED = {("tasks/suggest.py", "yaml.load"): "by a loader of its own, which is a safe one without aliases"}


def dangerous(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The lines of a module that call one of these functions, or ask for it by a keyword."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if last in METHODS or (last in LAST and ast.unparse(node.func) in CALLS):
            yield node.lineno, ast.unparse(node.func)
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg in KEYWORDS and not (isinstance(value, ast.Constant) and value.value is False):
                yield node.lineno, f"{keyword.arg}="


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_that_runs_data_is_called(room: str) -> None:
    calls = [
        (path.relative_to(ROOT).as_posix(), line, call)
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, call in dangerous(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert [(name, line, call) for name, line, call in calls if (name, call) not in ALLOWED] == []


@pytest.mark.parametrize(
    "code",
    ["eval(x)", "import pickle; pickle.loads(x)", "archive.extractall(folder)", "yaml.load(x, Loader=yaml.Loader)",
     "subprocess.run(x, shell=True)", "numpy.load(x, allow_pickle=True)", "os.system(x)", "exec(x)"],
)  # fmt: skip
def test_what_runs_data_would_be_found(code: str) -> None:
    assert list(dangerous(ast.parse(code)))
