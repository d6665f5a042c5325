"""Checks an environment: what its APIs say of themselves, its records, and what comes of calling it."""

from __future__ import annotations

import ast
import asyncio
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docstring_parser
import yaml

from r_eval.checking.arguments import Known, key_of
from r_eval.checking.calls import check_calls
from r_eval.checking.finding import Finding, place_of
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.opening import located
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Step
from r_eval.tasks.base import open_environment, task_files
from r_eval.tasks.questions import read_questions
from r_eval.tasks.templates import KnownRecords, TemplateFile, generate, read_templates

EXAMPLES = 3
"""Questions of a template, and of a question file, whose programs show calls."""


def check_environment(target: str) -> list[Finding]:
    """What is found in an environment.

    Raises:
        UserError: It cannot be opened.
    """
    try:
        environment = open_environment(target)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{target} cannot be opened: {type(error).__name__}: {error}") from error
    try:
        return asyncio.run(_findings(target, environment))
    finally:
        environment.close()


async def _findings(target: str, environment: Environment) -> list[Finding]:
    cls = type(environment)
    specs, functions = environment.specs(), cls.query_apis()
    whole = place_of(cls, target) if functions else target
    places = {name: place_of(functions[name], target) if name in functions else target for name in specs}
    findings = []
    if not environment.description.strip():
        text = "the class has no docstring" if functions else "it does not say what it is"
        findings.append(Finding(target, whole, "error", text, "say in a sentence what it knows: models are told it"))
    if not specs:
        todo = "mark methods with @query_api"
        return [*findings, Finding(target, whole, "error", "it has no query API", todo)]
    for name, spec in specs.items():
        findings += [
            Finding(target, places[name], f.severity, f"query API {name}: {f.what}", f.todo)
            for f in _described(spec, functions.get(name))
        ]
    known = Known()
    templates = _template_files(target, environment)
    findings += _records(target, environment, known, templates)
    findings += await _learn_calls(target, environment, known, templates)
    return [*findings, *await check_calls(target, environment, known, places)]


def _described(spec: ApiSpec, function: Any) -> Iterator[Finding]:
    """What an API's signature and docstring leave unsaid; place and target are for the caller to set."""
    if not spec.summary.strip():
        yield Finding("", "", "error", "no docstring", "say in its first line what it does: models are told it")
    hints = inspect.get_annotations(function) if function is not None else None
    for parameter in spec.parameters:
        if hints is not None and parameter.name not in hints:
            todo = "annotate it: without a type nothing checks what a model writes"
            yield Finding("", "", "error", f"the parameter {parameter.name} has no type", todo)
        if not parameter.description:
            text = f"nothing describes the parameter {parameter.name}"
            todo = f'add a line "{parameter.name}: ..." below "Args:"' if hints is not None else "let its schema do so"
            yield Finding("", "", "warning", text, todo)
    if hints is None:
        return
    if "return" not in hints:
        yield Finding("", "", "warning", "no return type", "annotate it: PAL programs are written from it")
    names = {p.name for p in spec.parameters}
    for described in docstring_parser.parse(inspect.getdoc(function) or "").params:
        if described.args[0] == "param" and described.arg_name not in names:
            text = f"the docstring describes {described.arg_name}, which is no parameter"
            yield Finding("", "", "warning", text, f"the parameters are: {', '.join(names) or 'none'}")


def _records(target: str, environment: Environment, known: Known, templates: list[TemplateFile]) -> Iterator[Finding]:
    """Whether there are records, and whether they are data in a fixed order; `known` learns them."""
    method = type(environment).records
    if method is Environment.records and not type(environment).query_apis():
        yield Finding(target, target, "note", "it has no records, so question templates cannot be filled from it")
        return
    if method is Environment.records:
        place = place_of(type(environment), target)
        todo = "define records(kind), from which question templates are filled"
        yield Finding(target, place, "warning", "it has no records", todo)
        return
    place = place_of(method, target)
    found: list[str] = []
    for kind in dict.fromkeys([*_kinds_of(templates), *_kinds_named_in(method)]):
        try:
            records, again = environment.records(kind), environment.records(kind)
        except KeyError:
            continue
        except Exception as error:  # noqa: BLE001 - the user's own code
            text = f"records({kind!r}) raises {type(error).__name__}: {error}"
            yield Finding(target, place, "error", text, "raise KeyError for a kind that is not there, nothing else")
            continue
        found.append(f"{len(records):,} {kind}")
        todo = "give a list of dicts of text, numbers and lists, in a fixed order"
        if not all(isinstance(r, dict) and _is_data(r) for r in records):
            yield Finding(target, place, "error", f"records({kind!r}) gives what is no data", todo)
        elif key_of(records) != key_of(again):
            yield Finding(target, place, "error", f"records({kind!r}) gives another list when asked again", todo)
        else:
            known.add(records, kind)
    text = f"records: {', '.join(found)}" if found else "records of no kind are known to the check"
    yield Finding(target, place, "note", text)


def _is_data(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_data(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return all(_is_data(inner) for inner in value)
    return value is None or isinstance(value, str | int | float)


def _template_files(target: str, environment: Environment) -> list[TemplateFile]:
    """The template files of an environment: in the folder of its own file, and those of the installed tasks."""
    folder = _folder(environment)
    paths = [(p, str(p.parent)) for p in sorted(folder.glob("*.yaml"))] if folder else []
    paths += [(p.with_name(f"{p.stem}.templates.yaml"), "") for p in task_files().values()]
    found = []
    for path, here in paths:
        try:
            text = path.read_text(encoding="utf-8")
            if "templates:" not in text or (not here and target not in text):  # spares reading what cannot be meant
                continue
            file = read_templates(path)
        except (OSError, ValueError, UserError, yaml.YAMLError):
            continue
        name = located(file.environment, Path(here)) if here else file.environment
        if _same(name, target):
            found.append(file)
    return found


def _same(one: str, other: str) -> bool:
    """Whether two names stand for the same environment; paths are seen from the present folder."""
    (path, _, cls), (other_path, _, other_cls) = one.rpartition(":"), other.rpartition(":")
    if path.endswith(".py") and other_path.endswith(".py"):
        return cls == other_cls and Path(path).resolve() == Path(other_path).resolve()
    return one == other


def _folder(environment: Environment) -> Path | None:
    """The folder of the environment's own file; None for one that comes with R-Eval, or from no Python file."""
    if type(environment).__module__.startswith("r_eval."):
        return None
    try:
        return Path(inspect.getfile(type(environment))).parent
    except (OSError, TypeError):
        return None


def _kinds_of(templates: list[TemplateFile]) -> list[str]:
    return [kind for file in templates for t in file.templates for kind in t.kinds.values()]


def _kinds_named_in(method: Any) -> list[str]:
    """Texts in the code of `records`: one that is no kind gives a KeyError, which does no harm."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError):
        return []
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [text for text in texts if text.isidentifier()]


async def _learn_calls(
    target: str, environment: Environment, known: Known, templates: list[TemplateFile]
) -> list[Finding]:
    """Run a few gold programs of the environment's templates and question files, for the calls that they make.

    Returns the templates that gave none because they cannot be filled.
    """
    findings: list[Finding] = []

    def learn(step: Step) -> None:
        if step.api and step.arguments and not step.error:
            known.add_call(step.api, step.arguments)

    records = KnownRecords(environment)
    with Sandbox(workers=1) as sandbox:
        programs: list[str] = []
        for template in [t for file in templates for t in file.templates]:
            single = TemplateFile(environment="", templates=[template])
            try:
                made = await generate(single, environment, sandbox, EXAMPLES, 0, known=records)
            except Exception as error:  # noqa: BLE001  the environment's own code, which may raise anything
                what = f"the template '{template.id}' cannot be filled ({type(error).__name__}: {error})"
                findings.append(Finding(target, target, "warning", what, "r-eval check on its file says more"))
                continue
            programs += [q.program for q in made.questions if q.program]
        for path in sorted(folder.glob("*.jsonl")) if (folder := _folder(environment)) else []:
            try:
                programs += [q.program for q in read_questions(path) if q.program][: EXAMPLES * EXAMPLES]
            except UserError:
                continue
        for program in programs:
            if all(map(known.has_examples, environment.specs())):
                break
            try:
                await Session(environment, sandbox, learn).run_program(program)
            except EnvironmentFailure:
                continue
    return findings
