"""What an environment is: query APIs over a domain's knowledge, written as functions or as methods of a class.

R-Eval derives the ReAct action list, the PAL stubs, the JSON schema for function calling, the argument check and the
documentation from the signatures and docstrings (see `schema`). A file of functions becomes such a class by itself
(see `functions`). An environment knows nothing of LLMs, questions or scores.

Every episode works on its own shallow copy of the environment (`Environment.open`), so an attribute set by a
query API, such as the page that a wiki reader has open, belongs to that episode alone; objects made in
`__init__`, such as a database, are shared by all.

An environment whose query APIs are no Python methods (a server's, another library's) overrides `specs` and `call`;
those of `tools` do. A session reads observations (`observe`), which are made of what `call` returns.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

from pydantic_core import to_json, to_jsonable_python

from r_eval.environments.observation import Observation
from r_eval.environments.schema import ApiSpec
from r_eval.environments.signatures import specs_of
from r_eval.fingerprints import code_hashes, short_hash
from r_eval.isolation import DaemonThreads, ForeignLoop
from r_eval.text import clean_data

if TYPE_CHECKING:
    from r_eval.records import Document

Method = TypeVar("Method", bound=Callable[..., Any])

MOST_ITEMS = 100_000
"""What is taken from an iterator that a query API returns, which may have no end."""
LARGE = 10_000
"""Characters or items of a value whose text is made off the event loop."""
OWN_TIMEOUT = 600.0
"""`Environment.timeout` of the environments that bound their calls themselves, or load a model with the first one."""
threads = DaemonThreads("query-api")
"""Where whatever may block is carried out: query APIs that are not async, and the hooks of environments."""
_loops: dict[type[Any], ForeignLoop] = {}


def loop_of(environment: Environment) -> ForeignLoop:
    """The event loop of an environment's async query APIs, shared by its class alone: a blocked one stops all calls."""
    kind = type(environment)
    return _loops.get(kind) or _loops.setdefault(kind, ForeignLoop(f"async-query-api {kind.__name__}"))


class ToolError(Exception):
    """Raised by a query API that cannot do what it was called for: the model reads the message and can act on it.

    Attributes:
        kind: The `error` of the recorded step.
        unexplained: What the model reads where there is no message.
    """

    kind: ClassVar[str] = "tool_error"
    unexplained: ClassVar[str] = "The tool failed and does not say why."

    def __str__(self) -> str:
        text = super().__str__()
        return text if text.strip() else self.unexplained


class NotFound(ToolError):
    """Raised by a query API that found nothing."""

    kind = "not_found"
    unexplained = "Nothing was found."


class TemporaryFailure(ToolError):
    """Raised by a query API that failed this once: the model may make the same call again."""

    kind = "temporary"
    unexplained = "The call failed this once. The same call may be made again."


class EnvironmentFailure(Exception):
    """Raised by a query API whose infrastructure failed (a server is down, a file is broken); never the model's fault.

    Any exception of a query API that is no `ToolError` counts as one.
    """


@overload
def query_api(method: Method) -> Method: ...


@overload
def query_api(*, blocking: bool = True) -> Callable[[Method], Method]: ...


def query_api(method: Method | None = None, *, blocking: bool = True) -> Method | Callable[[Method], Method]:
    """Mark a function of a file, or a method of an `Environment`, as a query API.

    Args:
        blocking: False for one that returns within microseconds, for example from memory: it is called on the event
            loop itself, which saves the way to a thread and back.

    Raises:
        TypeError: It is no function.
    """
    if method is None:
        return functools.partial(query_api, blocking=blocking)
    function: Any = getattr(method, "__func__", method)  # of a static or class method
    if not callable(function):
        raise TypeError(f"@query_api marks functions and methods, not a {type(method).__name__}")
    function.__query_api__, function.__blocking__ = True, blocking
    return method


def marked(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    """The functions of a class that are marked with `@query_api`, or replace such, by name, those of bases first."""
    found: dict[str, Callable[..., Any]] = {}
    for parent in reversed(cls.__mro__):
        for name, member in vars(parent).items():
            function: Any = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if is_marked(function) or (name in found and callable(function)):  # properties are refused later
                found[name] = function
            elif name in found:
                del found[name]
    return found


def is_marked(value: Any) -> bool:
    """Whether something is marked with `@query_api`; objects that have any attribute one asks for are not."""
    return inspect.getattr_static(value, "__query_api__", None) is True


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

    Attributes:
        timeout: Seconds that a call, or opening or closing a session, may take; after that it has failed.
        copies_state: Whether a copy of an opened environment has a state of its own, so that the branches of a search
            do not see what others did.
    """

    timeout: float = 60.0
    copies_state: bool = True

    @classmethod
    def query_apis(cls) -> dict[str, Callable[..., Any]]:
        """The query API functions by name, in the order in which the class (base classes first) defines them."""
        return marked(cls)

    def specs(self) -> dict[str, ApiSpec]:
        """What can be asked of this environment, by the query APIs' names, in their order."""
        kind: Any = type(self)
        return specs_of(kind)

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API off the event loop, which foreign code may block: in a thread, or where the API is
        async in another thread's loop.

        Args:
            api: A name among `specs`.
            arguments: As the API's spec has checked them.

        Returns:
            The value as plain JSON data, or an `Observation` of that.

        Raises:
            ToolError: The model's business; the message is the observation.
            EnvironmentFailure: The infrastructure failed. Any other exception counts as the same.
        """
        method = getattr(self, api)
        if inspect.iscoroutinefunction(method):
            value = method(**arguments)
        elif not getattr(method, "__blocking__", True):
            value = _plain(method(**arguments))
        else:
            value = await threads.run(lambda: _plain(method(**arguments)))
        return await loop_of(self).run(_awaited(value)) if inspect.isawaitable(value) else value

    @property
    def description(self) -> str:
        """What the domain is, as a model is told; by default the docstring."""
        return inspect.cleandoc(self.__doc__ or "")

    @property
    def version(self) -> str:
        """Hash of the knowledge, part of every cell's fingerprint, as are the specs, the settings and the files that
        they name. By default, of the code of the class and of the modules in its folder, without comments and layout.
        """
        return short_hash(code_hashes(type(self), Environment))

    def for_documents(self, documents: Sequence[Document]) -> Self:
        """The environment for a question that comes with documents; by default itself.

        Called on the bare environment, before conditions are put around it and before it is opened.

        Args:
            documents: The question's `context`. Nothing else of the question, the gold answer least of all, reaches an
                environment.
        """
        return self

    def open(self) -> Self:
        """A copy for one episode; what its query APIs set on `self` stays in the episode."""
        return copy.copy(self)

    def copy_state(self) -> Self:
        """A copy of an opened environment as it is now, for a branch of a search; itself if it shares its state."""
        return copy.copy(self) if self.copies_state else self

    def close(self) -> None:
        """Let go of what belongs to this copy alone, such as a connection; what `__init__` made is shared and stays."""

    def render(self, api: str, value: Any) -> str:
        """The observation text of a query API's value: text as it is, everything else as JSON.

        A list becomes one line an element, after the number of them, since models count badly.
        """
        plain = to_jsonable_python(value)
        values = plain if isinstance(plain, list) else [plain]
        lines = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values]
        number = f"{len(lines)} result{'' if len(lines) == 1 else 's'}."
        return "\n".join([number, *lines]) if isinstance(plain, list) else lines[0]

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
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


async def observe(environment: Environment, api: str, arguments: dict[str, Any]) -> Observation[Any]:
    """Carry out a query API; the value as plain data, with its text and the ids of what was found.

    Raises:
        ToolError, EnvironmentFailure: As `Environment.call`.
        TypeError: The ids are not texts.
    """
    returned = await environment.call(api, arguments)
    if is_large(returned.value if isinstance(returned, Observation) else returned):
        return await threads.run(observed, environment, api, returned)
    return observed(environment, api, returned)


def is_large(value: Any, depth: int = 3) -> bool:
    """Whether plain data is so large that it should be worked on off the event loop."""
    if isinstance(value, str | list | dict) and len(value) > LARGE:
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and any(is_large(part, depth - 1) for part in parts)


def observed(environment: Environment, api: str, returned: Any) -> Observation[Any]:
    """What a query API returned as a complete observation: text and ids are its own, or else follow from the value.

    Raises:
        TypeError: The ids are not texts.
    """
    seen = returned if isinstance(returned, Observation) else Observation(returned)
    plain = to_jsonable_python(seen.value, fallback=_foreign)
    text = seen.text if seen.text is not None else environment.render(api, plain)
    return Observation(plain, text, seen.retrieved_ids or environment.retrieved_ids(api, plain))


async def _awaited(value: Any) -> Any:
    return _plain(await value)


def _foreign(value: Any) -> Any:
    """A number or an array of numpy's, or of a library like it, a range, a view of a dict, a row of a database, or
    another collection that is no list or dict, as plain data.

    Raises:
        TypeError: The value is none.
        ValueError: It has too many items.
    """
    if hasattr(value, "tolist"):
        names = list(value.keys()) if hasattr(value, "keys") else []  # of a row of pandas
        return dict(value) if names and all(isinstance(name, str) for name in names) else value.tolist()
    if not isinstance(value, Mapping | ValuesView | Sequence | Set):
        raise TypeError(f"a {type(value).__name__} is no JSON data: return text, numbers, lists or dicts")
    if len(value) > MOST_ITEMS:
        raise ValueError(f"a {type(value).__name__} of more than {MOST_ITEMS:,} items; return a list")
    return dict(value) if hasattr(value, "keys") else list(value)


def _plain(value: Any) -> Any:
    """A value as plain JSON data, inside its `Observation` where it is one; what is awaitable is left as it is.

    Raises:
        ValueError: It has no end, or cannot be such data.
    """
    if inspect.isawaitable(value):
        return value
    if isinstance(value, Observation):
        return dataclasses.replace(value, value=_plain(value.value))
    if isinstance(value, Iterator):
        value = list(itertools.islice(value, MOST_ITEMS + 1))
        if len(value) > MOST_ITEMS:
            raise ValueError(f"it returned an iterator of more than {MOST_ITEMS:,} items; return a list")
    plain = to_jsonable_python(value, fallback=_foreign)
    try:
        to_json(plain)
    except ValueError:  # half a surrogate pair
        plain = clean_data(plain)
    return plain
