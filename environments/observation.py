"""What a query API may return in place of a plain value: the value, and how a model reads it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Generic, TypeVar

Value_co = TypeVar("Value_co", covariant=True)


@dataclasses.dataclass(frozen=True, slots=True, init=False)
class Observation(Generic[Value_co]):
    """A query API's result, where its text or the ids of what it found do not follow from the value.

    Example:
        >>> Observation(["Nairobi"], text="1 town: Nairobi", retrieved_ids=["t7"])
        Observation(value=['Nairobi'], text='1 town: Nairobi', retrieved_ids=('t7',))

    Attributes:
        value: What a program receives; plain data.
        text: What a model reads; None for the text that follows from the value.
        retrieved_ids: Of what a search found, the best first, for the metrics of retrieval.

    Raises:
        TypeError: The text or an id is no str.
    """

    value: Value_co
    text: str | None
    retrieved_ids: tuple[str, ...]

    def __init__(self, value: Value_co, text: str | None = None, retrieved_ids: Iterable[str] = ()) -> None:
        if not isinstance(text, str | None):  # here a traceback still shows the line that gave it
            raise TypeError(f"the text of an Observation must be a str or None, not {type(text).__name__}")
        ids = () if isinstance(retrieved_ids, str) else tuple(retrieved_ids)
        if isinstance(retrieved_ids, str) or not all(isinstance(one, str) for one in ids):
            raise TypeError("the retrieved_ids of an Observation must be a list of str")
        for field, content in (("value", value), ("text", text), ("retrieved_ids", ids)):
            object.__setattr__(self, field, content)
