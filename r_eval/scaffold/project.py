"""Writes the project of a new domain from the template files in `domain/`.

A template's file name has `module` in place of the domain's name, its text has `${module}`.
"""

from __future__ import annotations

import keyword
import re
import string
import sys
from importlib.resources import files
from pathlib import Path

from r_eval.errors import UserError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_ ][A-Za-z0-9]+)*")
LONGEST = 50
SUFFIX = ".tmpl"
IMPORTED = ("conftest", "pytest", "r_eval")


def new_domain(name: str, folder: Path | None = None) -> Path:
    """Write a project that runs without changes; returns its folder.

    Args:
        name: The domain's name; `my-recipes` becomes `my_recipes.py`.
        folder: The project's folder; by default one of that name in the present folder.

    Raises:
        UserError: The name cannot be a module's, or the folder cannot be made or is not empty.
    """
    module = module_name(name)
    folder = folder if folder is not None else Path(name.replace(" ", "-"))
    found = [path for path in files("r_eval.scaffold").joinpath("domain").iterdir() if path.name.endswith(SUFFIX)]
    texts = dict[str, str]()
    for path in sorted(found, key=lambda path: path.name):
        text = string.Template(path.read_text(encoding="utf-8")).substitute(module=module)
        texts[path.name.removesuffix(SUFFIX).replace("module", module)] = text
    _write(folder, texts)
    return folder


def module_name(name: str) -> str:
    """The name of a domain's module.

    Raises:
        UserError: It cannot be a module's name, or is that of another module.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise UserError(
            f"'{name}' cannot be a domain's name: at most {LONGEST} letters A to Z, digits and single hyphens, "
            "beginning with a letter, such as my-recipes"
        )
    module = re.sub("[- ]", "_", name).lower()
    if module in sys.stdlib_module_names or module in IMPORTED or keyword.iskeyword(module):
        raise UserError(f"'{name}' cannot be a domain's name: Python itself uses '{module}'. Try {name}-domain")
    return module


def _write(folder: Path, texts: dict[str, str]) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"{folder} already exists and is not empty; choose another folder with --dir")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from None
