"""Renders questions from records with a subset of Jinja2: expressions, `if` and a few filters."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from r_eval.errors import UserError
from r_eval.tasks.templates.programs import no_field

OPTIONS = "options"
"""The name of a template's options in its texts and program."""
EITHER = re.compile(r"\bor\b|或|还是", re.IGNORECASE)
SINGLE_BRACES = re.compile(r"\{[A-Za-z_]\w*[\[.}]")
FILTERS = ("capitalize", "first", "join", "last", "length", "lower", "sort", "title", "trim", "upper")
"""Jinja2 filters available besides `shuffled` and `listed`."""
NODES = """Output TemplateData Name Const Getattr Getitem Slice Filter Test If CondExpr Compare Operand And Or Not
    Concat Neg"""
USABLE = tuple(getattr(nodes, name) for name in re.findall(r"\w+", NODES))
"""Allowed syntax: no calls, loops or growth, since drafts of an LLM are rendered too."""


class _EmptySlot(Exception):
    """A value that the text names is empty."""


class _Environment(ImmutableSandboxedEnvironment):
    """Looks up fields by key only, so that a field may be called `items`."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if obj is None:
            raise _EmptySlot
        try:
            return obj[argument]
        except IndexError:
            raise _EmptySlot from None
        except (KeyError, TypeError):
            raise no_field(argument, obj) from None


@pass_context
def _printed(context: Context, value: Any) -> Any:
    """Record the value of an expression in the text."""
    if value is None or value in ("", []):
        raise _EmptySlot
    if isinstance(value, dict):
        raise UserError("a question cannot show a whole record; name one of its fields")
    if (values := context.get("_values")) is not None:
        values.append(str(value))
    return value


@pass_context
def _shuffled(context: Context, values: Sequence[Any]) -> list[Any]:
    """The values in a seeded order, independent of their input order; sorted without a seed."""
    return in_order(values, context.get("_seed"))


def in_order(values: Sequence[Any], seed: str | None) -> list[Any]:
    """Values in the order of `shuffled` with this seed."""
    ordered = sorted(values, key=str)
    if seed is not None:
        random.Random(seed).shuffle(ordered)
    return ordered


def _listed(values: Sequence[Any], word: str = "") -> str:
    """The values separated by commas, with a word such as "or" before the last."""
    texts = [str(value) for value in values]
    if not word or len(texts) < 2:
        return ", ".join(texts)
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}"


_ENVIRONMENT = _Environment(finalize=_printed)
_ENVIRONMENT.filters = {name: _ENVIRONMENT.filters[name] for name in FILTERS}
_ENVIRONMENT.filters |= {"shuffled": _shuffled, "listed": _listed}
_ENVIRONMENT.globals = {}


class Phrasing:
    """One text of a template.

    Attributes:
        fields: By record name, the fields that the text uses, or None for the whole record.

    Raises:
        UserError: The text is not valid Jinja2, or uses syntax that is not allowed.
    """

    def __init__(self, text: str) -> None:
        try:
            tree = _ENVIRONMENT.parse(text.strip())
            for node in tree.find_all(nodes.Node):
                if not isinstance(node, USABLE):
                    raise UserError(
                        f"question, line {node.lineno}: a question can have no '{type(node).__name__.lower()}'"
                    )
            self._template = _ENVIRONMENT.from_string(text.strip())  # not earlier: it works constants out
        except TemplateSyntaxError as error:
            raise UserError(f"question, line {error.lineno}: {error.message}") from None
        self._words = [str(node.data) for node in tree.find_all(nodes.TemplateData)]
        if match := next(filter(None, map(SINGLE_BRACES.search, self._words)), None):
            raise UserError(f"'{match[0]}': a field is written with two braces, as {{{{ person.name }}}}")
        self.fields = _fields(tree)
        self.shuffles = any(node.name == "shuffled" for node in tree.find_all(nodes.Filter))

    def check(self, names: Sequence[str]) -> None:
        """Check that the text names only these records and `options`.

        Raises:
            UserError: It names something else.
        """
        known_names = [*names, OPTIONS]
        for name in self.fields:
            if name not in known_names:
                close = get_close_matches(name, known_names)
                raise UserError(f"no record '{name}'" + (f"; did you mean '{close[0]}'?" if close else ""))

    def text(
        self,
        records: Mapping[str, Any],
        options: Sequence[Any] = (),
        seed: str | None = None,
        values: list[str] | None = None,
    ) -> str | None:
        """The text for records; None if an expression is empty.

        Empty values are None, "", [] and indices after the end of a list.

        Args:
            options: The template's options.
            seed: Seed of `shuffled`; without one values are sorted.
            values: Receives the values of the expressions.

        Raises:
            UserError: A record has no such field, or its value does not fit a filter.
        """
        try:
            return self._template.render({**records, OPTIONS: list(options), "_seed": seed, "_values": values}).strip()
        except _EmptySlot:
            return None
        except (TemplateError, ValueError, TypeError) as error:
            raise UserError(str(error)) from None

    @property
    def offers(self) -> bool:
        """Whether the question offers several things: it shows options, or its own words contain "or"."""
        return OPTIONS in self.fields or any(EITHER.search(words) for words in self._words)


def _fields(tree: nodes.Template) -> dict[str, frozenset[str] | None]:
    field_names: dict[str, set[str]] = {}
    inner: set[int] = set()
    lookups: list[nodes.Getattr | nodes.Getitem] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
    for node in lookups:
        key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
        if isinstance(node.node, nodes.Name) and isinstance(key, str):
            field_names.setdefault(node.node.name, set()).add(key)
            inner.add(id(node.node))
    names = list(tree.find_all(nodes.Name))
    whole = {name.name for name in names if id(name) not in inner}
    return {name.name: None if name.name in whole else frozenset(field_names[name.name]) for name in names}
