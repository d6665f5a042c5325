"""Several conditions at once, as a grid names them; none of them is `clean`, the environment as it is."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from r_eval import plugins
from r_eval.environments.base import Environment
from r_eval.environments.conditions.base import Condition
from r_eval.errors import UserError, describe_invalid
from r_eval.fingerprints import code_hashes, settings_hashes, short_hash, with_prefix
from r_eval.isolation import describe
from r_eval.records import Question
from r_eval.seeds import Seeds


@dataclasses.dataclass(frozen=True)
class Combined:
    """What a cell is run under: any number of conditions, each around what those before it made.

    Attributes:
        name: As cells and records call it.
        settings: As the grid gives them.
    """

    name: str
    parts: tuple[Condition, ...]
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    def fingerprint_parts(self) -> dict[str, str]:
        """Hashes of what decides an episode: kinds and settings, and of a user's own condition its code as well."""
        code = {name: value for part in self.parts for name, value in code_hashes(type(part), Condition).items()}
        parts = {"": short_hash([[part.name, part.identity()] for part in self.parts] or {})}
        return {**parts, **with_prefix("code", code), **(settings_hashes(self.settings) if code else {})}

    @property
    def changes_questions(self) -> bool:
        """Whether some part may change or drop a question."""
        return any(type(part).question is not Condition.question for part in self.parts)

    def dropped(self) -> Counter[str]:
        """The questions that the parts have dropped so far, by reason, as far as they count them."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(getattr(part, "dropped", {}))
        return counts

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question under all parts; None where one of them drops it.

        Raises:
            UserError: A condition failed.
        """
        changed: Question | None = question
        try:
            for part in self.parts:
                changed = changed and part.question(changed, environment)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise UserError(f"condition '{self.name}': question '{question.id}': {describe(error)}") from error
        return changed

    def environment(self, environment: Environment, question: Question, seeds: Seeds) -> Environment:
        """The environment of one episode; the bare one itself where there is no part."""
        for part in self.parts:
            notes = {key: question.meta[key] for key in part.notes if key in question.meta}
            environment = part.environment(environment, notes, seeds)
        return environment


CLEAN = Combined("clean", ())
"""The unchanged environment."""


def combine(name: str, kinds: Sequence[str], settings: Mapping[str, Any]) -> Combined:
    """Conditions put together, in the order given.

    Args:
        name: What they are called together.
        kinds: Names, or `module:Class`; "clean" only on its own.
        settings: Each goes to all of them that have such a parameter.

    Raises:
        UserError: A condition is unknown or repeated, or a setting is unknown or out of bounds.
    """
    if CLEAN.name in kinds and len(kinds) > 1:
        raise UserError(f"condition '{name}': clean is the bare environment, and combines with nothing")
    repeated = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if repeated:
        raise UserError(f"condition '{name}': duplicate condition {repeated}")
    classes = [plugins.load("conditions", kind, Condition) for kind in kinds if kind != CLEAN.name]
    known = [parameter for cls in classes for parameter in plugins.signature_of(cls).parameters]
    for key in settings:
        if key not in known:
            raise UserError(f"condition '{name}': {plugins.unknown('setting', key, known)}")
    parts = []
    for cls in classes:
        own = plugins.signature_of(cls).parameters
        try:
            parts.append(cls(**{key: value for key, value in settings.items() if key in own}))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise UserError(f"condition '{name}': {key}: {describe_invalid(first)}") from None
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            why = str(error) if isinstance(error, TypeError | ValueError) else describe(error)
            raise UserError(f"condition '{name}': {why}") from error
    return Combined(name, tuple(parts), settings)
