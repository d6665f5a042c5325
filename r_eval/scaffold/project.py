"""Writes the project of a new domain from the template files in `domain/`.

A template's name is a file's name with `module` in place of the domain's; in its text `${module}` and `${class_name}`
stand for the two names that are made from it. All files are written into a folder beside the wanted one, which takes
its name when it is whole: an interrupted `r-eval new` leaves nothing half-written.
"""

from __future__ import annotations

import ast
import keyword
import re
import shutil
import string
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from r_eval.errors import UserError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_ ][A-Za-z0-9]+)*")
LONGEST = 50
SUFFIX = ".tmpl"
IMPORTED = ("conftest", "pytest", "r_eval")


def new_domain(name: str, folder: Path | None = None) -> Path:
    """Write a project that runs as it stands; returns its folder.

    Args:
        name: The domain's name; `my-recipes` becomes `my_recipes.py` with the class `MyRecipes`.
        folder: The project's folder; by default one of that name in the present folder.

    Raises:
        UserError: The name cannot be a module's or a class's, or the folder cannot be made or holds something.
    """
    names = identifiers(name)
    folder = folder if folder is not None else Path(name.replace(" ", "-"))
    texts = {
        path.removesuffix(SUFFIX).replace("module", names["module"]): string.Template(text).substitute(names)
        for path, text in _templates().items()
    }
    _write(folder, texts)
    return folder


def identifiers(name: str) -> dict[str, str]:
    """The names of a domain's `module` and `class_name`.

    Raises:
        UserError: It cannot be made an identifier, or stands for something else in the project's files.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise UserError(
            f"'{name}' cannot be a domain's name: at most {LONGEST} letters A to Z, digits and single hyphens, "
            "beginning with a letter, such as my-recipes"
        )
    words = re.split(r"[-_ ]", name)
    module = "_".join(words).lower()
    class_name = "".join(word[0].upper() + word[1:] for word in words)
    if module in sys.stdlib_module_names or module in IMPORTED or keyword.iskeyword(module):
        raise UserError(f"'{name}' cannot be a domain's name: Python itself uses '{module}'. Try {name}-domain")
    if class_name in _used() or keyword.iskeyword(class_name):
        raise UserError(f"'{name}' cannot be a domain's name: {class_name} is a class already. Try {name}-domain")
    return {"module": module, "class_name": class_name}


def _templates() -> dict[str, str]:
    folder = files("r_eval.scaffold").joinpath("domain")
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name.endswith(SUFFIX)}
    return dict(sorted(found.items()))


def _used() -> set[str]:
    """The names that the module's own code uses for something else than its environment."""
    source = string.Template(_templates()[f"module.py{SUFFIX}"]).substitute(module="_", class_name="_")
    used: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.alias):
            used.add(node.name)
        elif isinstance(node, ast.Name):
            used.add(node.id)
    return used


def _write(folder: Path, texts: dict[str, str]) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"{folder} is there already and is not empty; give another with --dir")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as beside:
            whole = Path(beside) / "project"
            whole.mkdir()
            for name, text in texts.items():
                (whole / name).write_text(text, encoding="utf-8")
            if folder.exists():
                folder.rmdir()
            shutil.move(whole, folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from None
