"""What a question file's season says: over which environment it was made, from which templates, and whether that is
still so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from r_eval.checking.finding import Finding
from r_eval.checking.grouped import QuestionFile
from r_eval.files import is_file, read_yaml
from r_eval.tasks.base import task_files
from r_eval.tasks.seasons.season import content_hash, environment_of, read_season

KINDS = (".questions.jsonl", ".demonstrations.jsonl")


def environment_for(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Name and settings of the environment that a question file was made for; None where nothing says it.

    A season says it, or the installed task that the file belongs to. A season comes with questions, which are data: it
    may name what is installed and what lies in its own folder. Another module or file, a command or an address is for a
    person to name.
    """
    season = read_season(path)
    if season is not None:
        return (environment_of(path, season), {}) if _near(season.environment, path.parent) else None
    for task in task_files().values():
        for kind in KINDS:
            if path.resolve() == task.with_name(f"{task.stem}{kind}").resolve():
                data = yaml.safe_load(task.read_text(encoding="utf-8"))
                if kind == KINDS[1] and data.get("home"):
                    return data["home"], {}
                return data["environment"], data.get("settings") or {}
    return None


def _near(environment: str, folder: Path) -> bool:
    """Whether an environment is an installed one, or a Python file in a folder."""
    where, colon, _ = environment.rpartition(":")
    if not colon:
        return bool(environment)
    found = (folder / where).resolve()
    return found.suffix == ".py" and is_file(found) and found.is_relative_to(folder.resolve())


def template_file(path: Path) -> Path | None:
    """The template file that a question file was made from; None where it is not there."""
    season = read_season(path)
    if season is not None and season.file:
        found = path.parent / season.file
    else:
        kind = next((kind for kind in KINDS if path.name.endswith(kind)), "")
        found = path.with_name(f"{path.name.removesuffix(kind)}.templates.yaml")
    return found if is_file(found) else None


def template_ids(path: Path) -> frozenset[str] | None:
    """The ids of the templates that a question file was made from; None where they are not known."""
    found = template_file(path)
    if found is None:
        return None
    try:
        data = read_yaml(found.read_text(encoding="utf-8"))
        return frozenset(template["id"] for template in data["templates"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError, RecursionError):
        return None


def check_season(file: QuestionFile) -> list[Finding]:
    """Whether the season still fits its question file and its template file."""
    season = read_season(file.path)
    if season is None:
        return []
    findings = [
        file.note(f"season {season.version} over {season.environment or 'triples'} {season.environment_version}")
    ]
    if season.count != len(file.questions):
        what = f"{len(file.questions)} questions, though its season file says {season.count}"
        todo = "generate it again: a set that was changed by hand is another set"
        findings.append(Finding(file.target, findings[0].place, "warning", what, todo))
    templates = template_file(file.path) if season.file and season.templates else None
    if templates is not None and content_hash(templates) != season.templates:
        findings.append(file.note(f"{templates.name} has changed since; --refresh makes the next season from it"))
    return findings
