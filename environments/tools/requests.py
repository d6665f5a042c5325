"""HTTP requests of query APIs: where arguments go, what is tried again, and what an answer means.

Whatever a model writes as an argument stays an argument: it is percent-encoded, a path segment that would lead
elsewhere is refused, and no redirect leaves the server.
"""

from __future__ import annotations

import dataclasses
import json
import random
import weakref
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from r_eval.environments.base import EnvironmentFailure, NotFound
from r_eval.environments.schema import clip
from r_eval.environments.tools import background
from r_eval.environments.tools.operations import Operation, Place, is_json

if TYPE_CHECKING:
    import aiohttp

LARGEST = 5_000_000
LONGEST_WAIT = 30.0
FIRST_WAIT = 0.25
CONNECTIONS = 32
REDIRECTS = 5
SHORTEST_KEY = 8
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may well succeed."""
NOT_THE_MODELS = frozenset({401, 402, 407})
"""Refusals that concern the key or the account, not the call."""


@dataclasses.dataclass
class Request:
    """A request, but for the server's address."""

    path: str
    query: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: Any = None
    form: list[tuple[str, str]] | None = None


def request_of(operation: Operation, arguments: Mapping[str, Any]) -> Request:
    """The request of a call.

    Args:
        arguments: By their declared names.

    Raises:
        NotFound: An argument cannot be sent where it has to go.
    """
    request = Request(operation.path, form=[] if operation.form else None)
    if any(place.where == "body" for place in operation.places.values()):
        request.body = {}
    for name, value in arguments.items():
        place = operation.places[name]
        if place.where == "path":
            request.path = request.path.replace("{" + place.name + "}", _segment(operation, name, place, value))
        elif place.where == "query":
            request.query += _pairs(place, value)
        elif place.where == "header":
            request.headers[place.name] = _header(operation, name, value)
        elif request.form is not None:
            request.form += _pairs(dataclasses.replace(place, style="form"), value)
        elif place.where == "whole":
            request.body = value
        else:
            request.body[place.name] = value
    return request


class Client:
    """Requests to one server; used from any thread or event loop.

    Args:
        base_url: What every path is below.
        headers: Headers of every request.
        timeout: Seconds of one attempt.
        retries: Attempts after the first one, where the server is down, busy or failing.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], timeout: float, retries: int) -> None:
        self._base, self._headers = base_url.rstrip("/"), dict(headers)
        self._timeout, self._retries = timeout, retries
        self._session: aiohttp.ClientSession | None = None

    async def send(self, method: str, request: Request, cookies: dict[str, str]) -> Any:
        """What the server answers: JSON as data, anything else as text.

        Args:
            cookies: Sent along, and replaced by what the server sets.

        Raises:
            NotFound: The server refuses the call; the message is its own.
            EnvironmentFailure: The server is down or failing after all attempts, or refuses the key.
        """
        return value_of(*await self.fetch(method, request, cookies))

    async def fetch(self, method: str, request: Request, cookies: dict[str, str]) -> tuple[str, str]:
        """The media type and the text of what the server answers; raises as `send` does."""
        return await background.over_there(self._persisted(method, request, cookies))

    async def _persisted(self, method: str, request: Request, cookies: dict[str, str]) -> tuple[str, str]:
        from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_TryAgain), stop=stop_after_attempt(self._retries + 1), wait=_pause
        )
        try:
            return await retrying(self._attempt, method, request, cookies)
        except RetryError as error:
            why = error.last_attempt.exception()
            raise EnvironmentFailure(f"{why} ({self._retries + 1} attempts)") from None

    async def _attempt(self, method: str, request: Request, cookies: dict[str, str]) -> tuple[str, str]:
        import aiohttp
        from yarl import URL

        query = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in request.query)
        url = self._base + request.path + (f"?{query}" if query else "")
        body = {"data": request.form} if request.form is not None else {"json": request.body}
        sent: dict[str, Any] = {} if request.body is None and request.form is None else body
        headers = {**self._headers, **request.headers}
        try:
            for _ in range(REDIRECTS):
                asked = self._opened().request(
                    method, URL(url, encoded=True), headers=headers, cookies=cookies, allow_redirects=False, **sent
                )
                async with asked as answer:
                    cookies.update({name: morsel.value for name, morsel in answer.cookies.items()})
                    if answer.status not in (301, 302, 303, 307, 308):
                        kind = answer.content_type if "Content-Type" in answer.headers else "text/plain"
                        text = self._without_keys(await _text(answer))
                        refuse(answer.status, text, answer.headers)
                        return kind, text
                    url = self._redirected(url, answer.headers.get("Location", ""))
                    if answer.status < 304 and method != "head":
                        method, sent = "get", {}
        except TimeoutError:
            raise _TryAgain(f"the server gave no answer within {self._timeout:g} s") from None
        except aiohttp.ClientError as error:
            raise _TryAgain(f"the server cannot be reached: {clip(str(error), 200)}") from None
        raise EnvironmentFailure("the server redirects without end")

    def _without_keys(self, text: str) -> str:
        """What a server says, without the keys that it was sent and may repeat."""
        for key in self._headers.values():
            for part in (key, key.rpartition(" ")[2]):
                text = text.replace(part, "[key]") if len(part) >= SHORTEST_KEY else text
        return text

    def _redirected(self, url: str, location: str) -> str:
        target = urljoin(url, location)
        if urlsplit(target)[:2] != urlsplit(self._base)[:2]:
            raise EnvironmentFailure(f"the server redirects to another one, {clip(urlsplit(target).netloc)}")
        return target

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
            )
            background.closed_at_exit(self._session.close)
            weakref.finalize(self, background.begin_call, self._session.close).atexit = False
        return self._session


class _TryAgain(Exception):
    """An attempt failed in a way that may pass; `after`: seconds that the server asks to wait."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


def _pause(state: Any) -> float:
    error = state.outcome.exception()
    if error.after is not None:
        return min(float(error.after), LONGEST_WAIT)
    grown: float = FIRST_WAIT * 2.0 ** (state.attempt_number - 1)
    return min(grown * random.uniform(0.75, 1.25), LONGEST_WAIT)


async def _text(answer: aiohttp.ClientResponse) -> str:
    parts, size = [], 0
    async for part in answer.content.iter_chunked(65536):
        size += len(part)
        if size > LARGEST:
            raise NotFound(f"The answer is larger than {LARGEST // 1_000_000} MB. Ask for less.")
        parts.append(part)
    try:
        return b"".join(parts).decode(answer.get_encoding(), "replace")
    except (LookupError, RuntimeError):
        return b"".join(parts).decode("utf-8", "replace")


def refuse(status: int, text: str, headers: Mapping[str, str]) -> None:
    """Raises what an answer's status means, if it is an error.

    Raises:
        NotFound, EnvironmentFailure: As `Client.send` says.
        _TryAgain: It should be asked for again.
    """
    if status in AGAIN or status >= 500:
        after = headers.get("Retry-After", "")
        raise _TryAgain(f"the server answers {_named(status, text)}", float(after) if after.isdecimal() else None)
    if status in NOT_THE_MODELS:
        raise EnvironmentFailure(f"the server answers {_named(status, text)}; check headers_env:")
    if status >= 400:
        raise NotFound(_said(text) or _named(status, ""))


def value_of(kind: str, text: str) -> Any:
    """The value of an answer of a media type.

    Raises:
        NotFound: It is no text.
        EnvironmentFailure: It is not what it says it is.
    """
    if is_json(kind):
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise EnvironmentFailure("the server's answer is not the JSON that it says it is") from None
    if text and not kind.startswith("text/") and not kind.endswith(("xml", "json", "yaml", "javascript")):
        raise NotFound(f"The answer is of the type {clip(kind)}, which cannot be shown as text.")
    return text


def _named(status: int, text: str) -> str:
    try:
        name = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        name = str(status)
    said = _said(text)
    return f"{name}: {clip(said, 200)}" if said else name


def _said(text: str) -> str:
    """A server's own words on an error: the message in a JSON object, or the text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.lstrip().startswith("<") else clip(text.strip(), 2000)
    for key in ("error", "message", "detail", "title", "message"):
        inner = found.get(key) if isinstance(found, dict) else None
        if isinstance(inner, dict):
            found = inner
        elif isinstance(inner, str) and inner:
            return clip(inner, 2000)
    return clip(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False), 2000)


def _segment(operation: Operation, name: str, place: Place, value: Any) -> str:
    parts = [_plain(one) for one in value] if isinstance(value, list) else [_plain(value)]
    for part in ",".join(parts).replace("\\", "/").split("/"):
        if part in (".", "..") or not part.strip():
            raise NotFound(f"{operation.spec.name}: argument '{name}' cannot be {clip(repr(value))}.")
    return ",".join(quote(part, safe="") for part in parts)


def _header(operation: Operation, name: str, value: Any) -> str:
    text = ",".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
    if not text.isprintable() or not text.isascii():
        raise NotFound(f"{operation.spec.name}: argument '{name}' may only hold printable ASCII characters.")
    return text


def _pairs(place: Place, value: Any) -> list[tuple[str, str]]:
    if place.as_json or (isinstance(value, dict) and place.style not in ("form", "deepObject")):
        return [(place.name, json.dumps(value, ensure_ascii=False))]
    if isinstance(value, dict):
        deep = place.style == "deepObject"
        return [(f"{place.name}[{key}]" if deep else str(key), _plain(inner)) for key, inner in value.items()]
    if isinstance(value, list) and not place.explode:
        mark = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(place.style, ",")
        return [(place.name, mark.join(map(_plain, value)))]
    return [(place.name, _plain(one)) for one in (value if isinstance(value, list) else [value])]


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
