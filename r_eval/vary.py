"""A sweep's form: which settings a grid varies with `vary:`, and which variants that makes.

Nothing here knows what the settings belong to; `r_eval.runner.sweeps` finds that out.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from r_eval.folder import file_name


def _checked(values: Any) -> list[Any]:
    if not isinstance(values, list | tuple) or not values:
        raise ValueError("give a list of values, the base's first")
    for value in values:
        if not isinstance(value, str | int | float | dict):
            raise ValueError(f"{value!r} is neither a text, a number, true or false, nor a mapping of settings")
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            raise ValueError(f"{value!r} is no mapping of settings: their names are texts")
        if value == "":
            raise ValueError("an empty text is no value that a variant can be called after")
    return list(values)


Values = Annotated[list[Any], BeforeValidator(_checked)]
"""The values of one setting, the base's first: scalars, or mappings that move several settings together."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to set what varies.

    Attributes:
        moved: What differs from the base, as `setting=value`; empty for the base.
        settings: All that it sets, whether moved or not.
    """

    moved: tuple[str, ...]
    settings: Mapping[str, Any]

    def name(self, base: str) -> str:
        """Its name where the base has that one, such as `rag@chunk_size=64`."""
        return f"{base}@{','.join(self.moved)}" if self.moved else base


class Vary(BaseModel):
    """What a grid varies; each key but the two below is a setting with its values.

    Attributes:
        protocol: "one", one setting at a time from the base; or "cross", every value with every other.
        workflow: The entry of the grid's workflows that varies, by its name, where several could.

    Example:
        >>> vary = Vary.model_validate({"chunk_size": [128, 64], "top_k": [8, 4]})
        >>> [variant.name("rag") for variant in vary.variants()]
        ['rag', 'rag@chunk_size=64', 'rag@top_k=4']
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Values]

    protocol: Literal["one", "cross"] = "one"
    workflow: str | None = None

    @property
    def values(self) -> dict[str, list[Any]]:
        """The settings that vary, each with its values."""
        return dict(self.__pydantic_extra__)

    @model_validator(mode="after")
    def _clear(self) -> Vary:
        if not self.values:
            raise ValueError("name at least one setting with its values, such as chunk_size: [128, 64]")
        for key, values in self.values.items():
            _check_names(key, values)
        _check_base(self.values)
        if self.protocol == "cross":
            _check_cross(self.values)
        return self

    def settings(self) -> list[str]:
        """The names of all settings that some variant sets."""
        moves = (_moves(key, value) for key, values in self.values.items() for value in values)
        return list(dict.fromkeys(name for move in moves for name in move))

    def variants(self) -> Iterator[Variant]:
        """All variants, the base first."""
        firsts = dict.fromkeys(self.values, 0)
        base = {name: v for key, values in self.values.items() for name, v in _moves(key, values[0]).items()}
        for places in self._places(firsts):
            moved = {key: self.values[key][place] for key, place in places.items() if place}
            settings = {**base, **{name: v for key, value in moved.items() for name, v in _moves(key, value).items()}}
            ordered = {name: settings[name] for name in self.settings() if name in settings}
            yield Variant(tuple(f"{key}={_named(key, value)}" for key, value in moved.items()), ordered)

    def _places(self, firsts: dict[str, int]) -> Iterator[dict[str, int]]:
        """Which value of each setting a variant takes."""
        if self.protocol == "cross":
            ranges = [range(len(values)) for values in self.values.values()]
            yield from (dict(zip(firsts, places, strict=True)) for places in itertools.product(*ranges))
            return
        yield firsts
        for key, values in self.values.items():
            yield from ({**firsts, key: place} for place in range(1, len(values)))


def _wrong(key: str, said: str) -> PydanticCustomError:
    """What is wrong with a key, where the model as a whole is checked; `at` leads to it."""
    return PydanticCustomError("vary", "{said}", {"said": said, "at": (key,)})


def _moves(key: str, value: Any) -> dict[str, Any]:
    """The settings that a value sets."""
    return value if isinstance(value, dict) else {key: value}


def _named(key: str, value: Any) -> str:
    """What a value is called: a mapping after what it sets its own key to."""
    own = _moves(key, value)[key]
    return str(own).lower() if isinstance(own, bool) else str(own)


def _check_names(key: str, values: list[Any]) -> None:
    """See that each value has a name of its own, in a path too."""
    seen: set[str] = set()
    for value in values:
        own = _moves(key, value).get(key)
        if not isinstance(own, str | int | float) or own == "":
            raise _wrong(key, f"{value!r} must set {key} itself, by whose value the variant is called")
        name = _named(key, value)
        if file_name(name) in seen:
            raise _wrong(key, f"the value {name} stands twice, or is written in a path as another one is")
        seen.add(file_name(name))


def _check_base(values: Mapping[str, list[Any]]) -> None:
    """See that the first values, which make the base, agree with each other."""
    base: dict[str, tuple[str, Any]] = {}
    for key, (first, *_) in values.items():
        for name, value in _moves(key, first).items():
            other, before = base.setdefault(name, (key, value))
            if before != value:
                raise _wrong(key, f"its first value sets {name} to {value}, that of {other} to {before}")


def _check_cross(values: Mapping[str, list[Any]]) -> None:
    """See that no setting is moved from two sides, since in a cross both would meet."""
    moved = {key: key for key in values}
    for key, own in values.items():
        for name in (name for value in own for name in _moves(key, value)):
            other = moved.setdefault(name, key)
            if other != key:
                raise _wrong(key, f"it sets {name} too, as {other} does; under protocol: cross only one of them may")
