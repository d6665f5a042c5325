"""The check of values against a stranger's JSON schema, in a bounded number of steps.

Patterns of strangers may backtrack for years, and a few lines of schema may ask for billions of comparisons. So every
keyword counts as a step, and patterns are matched by pydantic's engine, whose time is linear. A check that needs too
many steps counts as passed: the server that wrote the schema checks the arguments itself. No clock decides, so that the
same call is refused or accepted on every machine.
"""

from __future__ import annotations

import contextvars
import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic_core import SchemaError, SchemaValidator, core_schema

from r_eval.environments.schema import clip

T = TypeVar("T")

MOST_STEPS = 5_000
LONGEST_PATTERN = 500
LONGEST_TEXT = 10_000
"""Characters that are matched; a longer text is not."""
MOST_REPEATS = 2_000
"""The product of the counts in a pattern, which its engine writes out: `(a{100}){20}` has so many."""
COUNTS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
MOST_UNIQUE = 100
"""Items that are compared with each other; more are not, since all pairs would be."""

_steps: contextvars.ContextVar[list[int]] = contextvars.ContextVar("_steps")


class Unfinished(Exception):
    """A check takes more steps than it may."""


def within_limit(check: Callable[[], T], otherwise: T) -> T:
    """What a check returns, or `otherwise` if it needs more than `MOST_STEPS` steps."""
    token = _steps.set([MOST_STEPS])
    try:
        return check()
    except Unfinished:
        return otherwise
    finally:
        _steps.reset(token)


def _count_step() -> None:
    left = _steps.get([MOST_STEPS])
    left[0] -= 1
    if left[0] < 0:
        raise Unfinished


def fits(value: Any, schema: Any) -> bool:
    """Whether a value is valid.

    Raises:
        Unfinished: Too many steps were made.
    """
    return bool(validator(schema).is_valid(value))


def validator(schema: Any) -> Any:
    """A validator of JSON Schema 2020-12, whose checks raise `Unfinished` where they need too many steps."""
    return _validator_class()(schema)


def flaw(schema: Any) -> str:
    """Why something is not a JSON schema; empty where it is one."""
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import SchemaError

    try:  # without the format of patterns: those that cannot be compiled are not matched
        Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))
        return ""
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        return f"{clip(error.message, 200)} (at {place})"


@functools.lru_cache(4096)
def compiled(pattern: str) -> SchemaValidator | None:
    """A validator of texts in which a pattern is found; None where it is not one for a linear engine, or too large."""
    counts = [int(most or least) for least, most in COUNTS.findall(pattern[:LONGEST_PATTERN])]
    if len(pattern) > LONGEST_PATTERN or math.prod(max(one, 1) for one in counts) > MOST_REPEATS:
        return None
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except (SchemaError, ValueError):
        return None


def matches(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found in a text; None where that cannot be said.

    Raises:
        Unfinished: Too many steps were made.
    """
    _count_step()
    rule = compiled(pattern)
    if rule is None or len(text) > LONGEST_TEXT:
        return None
    return rule.isinstance_python(text.encode("utf-8", "replace").decode())


Keyword = Callable[[Any, Any, Any, Any], Iterator[Any]]


def _counted(keyword: Any) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _count_step()
        yield from keyword(validator, value, instance, schema) or ()

    return check


@functools.cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import ValidationError

    unique = Draft202012Validator.VALIDATORS["uniqueItems"]

    def pattern(validator: Any, value: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and matches(value, instance) is False:
            yield ValidationError(f"{clip(repr(instance))} does not match {value!r}")

    def named(validator: Any, value: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
        for rule, inner in value.items() if isinstance(instance, dict) else ():
            for key in (key for key in instance if matches(rule, key)):
                yield from validator.descend(instance[key], inner, path=key, schema_path=rule)

    def additional(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        known, rules = schema.get("properties", {}), schema.get("patternProperties", {})
        for key in (key for key in instance if key not in known) if isinstance(instance, dict) else ():
            if all(matches(rule, key) is False for rule in rules):
                if value in (False, {"not": {}}):
                    yield ValidationError(f"{clip(json.dumps(key))} is not one of its properties")
                else:
                    yield from validator.descend(instance[key], value, path=key)

    def distinct(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, list) and len(instance) <= MOST_UNIQUE:
            yield from unique(validator, value, instance, schema) or ()

    def unchecked(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        return iter(())  # these would match patterns without a limit; the server checks them

    own = {"pattern": pattern, "patternProperties": named, "additionalProperties": additional, "uniqueItems": distinct}
    own |= {"unevaluatedProperties": unchecked, "unevaluatedItems": unchecked}
    rules = {name: _counted(rule) for name, rule in {**Draft202012Validator.VALIDATORS, **own}.items()}
    return validators.extend(Draft202012Validator, rules)  # type: ignore[no-untyped-call]
