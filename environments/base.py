"""What an environment is: a class whose `@query_api` methods are a domain's knowledge.

From a method's signature and docstring come the ReAct action list, the PAL stubs, the JSON schema for function
calling, the argument check and the documentation, with no further words (see `schema`). The
class knows nothing of LLMs, questions or scores.

Every episode works on its own shallow copy of the environment (`Environment.open`), so an attribute set by a
query API, such as the page that a wiki reader stands on, belongs to that episode alone; objects made in
`__init__`, such as a database, are shared by all.

An environment whose query APIs are no Python methods (a server's, another library's) overrides `specs` and `call`;
those of `tools` do.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic_core import to_jsonable_python

from r_eval.environments.schema import ApiSpec, specs_of

if TYPE_CHECKING:
    from r_eval.records import Question

Method = TypeVar("Method", bound=Callable[..., Any])


class NotFound(Exception):
    """Raised by a query API that found nothing: its message is the observation, one that a model can act on."""


class TemporaryFailure(Exception):
    """Raised by a query API that failed this once: its message is the observation, and the model may try again."""


class EnvironmentFailure(Exception):
    """Raised by a query API whose own machinery failed (a server down, a broken file); never the model's fault."""


def query_api(method: Method) -> Method:
    """Mark a method of an `Environment` as one of its query APIs."""
    method.__query_api__ = True  # type: ignore[attr-defined]
    return method


class Environment:
    """A domain's knowledge behind query APIs; subclass it and mark methods with `@query_api`.

    Example:
        >>> class Recipes(Environment):
        ...     '''Dishes and their ingredients.'''
        ...     @query_api
        ...     def ingredients(self, dish: str) -> list[str]:
        ...         '''List the ingredients of a dish.
        ...
        ...         Args:
        ...             dish: The dish's exact name.
        ...         '''
        ...         return ["flour", "water"]
        >>> list(Recipes.query_apis())
        ['ingredients']
    """

    @classmethod
    def query_apis(cls) -> dict[str, Callable[..., Any]]:
        """The query API functions by name, in the order in which the class (base classes first) defines them."""
        found: dict[str, Callable[..., Any]] = {}
        for parent in reversed(cls.__mro__):
            for name, member in vars(parent).items():
                if getattr(member, "__query_api__", False):
                    found[name] = member
        return found

    def specs(self) -> dict[str, ApiSpec]:
        """What can be asked of this environment, by the query APIs' names, in their order."""
        kind: Any = type(self)
        return specs_of(kind)

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API; one that is not async runs in a thread, so that it does not hold the loop up.

        Args:
            api: A name among `specs`.
            arguments: As the API's spec has checked them.

        Raises:
            NotFound: There is no such thing; the message is the observation.
            TemporaryFailure: It failed this once, and what is to be done is the model's business.
            EnvironmentFailure: The environment's own machinery failed. So does any other exception count.
        """
        method = getattr(self, api)
        if inspect.iscoroutinefunction(method):
            return await method(**arguments)
        value = await asyncio.to_thread(method, **arguments)
        return await value if inspect.isawaitable(value) else value

    @property
    def description(self) -> str:
        """What the domain is, as a model is told; by default the docstring."""
        return inspect.cleandoc(self.__doc__ or "")

    @property
    def version(self) -> str:
        """Hash of the knowledge, part of every cell's fingerprint. By default, of the class's source file."""
        try:
            source = Path(inspect.getfile(type(self))).read_bytes()
        except (OSError, TypeError):
            source = type(self).__qualname__.encode()
        return hashlib.blake2b(source, digest_size=8).hexdigest()

    def for_question(self, question: Question) -> Self:
        """The environment for the episodes of one question, where that brings something to it; by default itself.

        Asked of the bare environment, before conditions are put around it and before it is opened. Nothing of the gold
        may get into what query APIs return.

        Args:
            question: As the question file has it.
        """
        return self

    def open(self) -> Self:
        """A copy for one episode; what its query APIs set on `self` stays in the episode."""
        return copy.copy(self)

    def close(self) -> None:
        """Let go of what belongs to this copy alone, such as a connection; what `__init__` made is shared and stays."""

    def render(self, api: str, value: Any) -> str:
        """The observation text of a query API's value: text as it is, everything else as JSON.

        A list becomes one line an element, after the number of them, since models count badly.
        """
        plain = to_jsonable_python(value)
        if isinstance(plain, str):
            return plain
        if isinstance(plain, list):
            lines = [item if isinstance(item, str) else _json(item) for item in plain]
            return "\n".join([f"{len(lines)} result{'' if len(lines) == 1 else 's'}.", *lines])
        return _json(plain)

    def found(self, api: str, value: Any) -> list[str]:
        """The ids of what a search found, the best first, for the metrics of retrieval; none where it has no ids.

        Args:
            value: What the query API returned, as plain data.
        """
        return []

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Records of one kind, in a fixed order, from which question templates are filled.

        Raises:
            KeyError: The environment has no such kind.
        """
        raise KeyError(kind)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Subject, relation, object: the domain as a graph, where it is one."""
        return iter(())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
