"""HTTP requests of query APIs: how they are sent, what is tried again, and what an answer means.

Keys go to the API's own server only, and no redirect leaves it.
"""

from __future__ import annotations

import json
import random
import weakref
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from r_eval.environments.base import EnvironmentFailure, NotFound, ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools import background
from r_eval.environments.tools.base import LARGEST
from r_eval.environments.tools.declared import printable
from r_eval.environments.tools.operations import is_json
from r_eval.environments.tools.placement import Request, encode

if TYPE_CHECKING:
    import aiohttp

LONGEST_WAIT = 30.0
FIRST_WAIT = 0.25
CONNECTIONS = 32
REDIRECTS = 5
SHORTEST_KEY = 8
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may well succeed."""
NOT_DONE = frozenset({425, 429, 503})
"""Those of them that say that nothing was done, so that a request which is not idempotent can be made again."""
NOT_IDEMPOTENT = frozenset({"post", "patch"})
NOT_THE_MODELS = frozenset({401, 402, 407})
"""Refusals that concern the key or the account, not the call."""
ABSENT = frozenset({404, 410})


class Client:
    """Requests to one API; used from any thread or event loop.

    Args:
        base: What every path is below, unless an operation is elsewhere.
        headers: Headers of every request to the server of `base`.
        query: Query parameters of every request to it.
        timeout: Seconds of one attempt.
        retries: Attempts after the first one, where the server is down, busy or failing.
    """

    def __init__(
        self, base: str, headers: Mapping[str, str], query: Mapping[str, str], timeout: float, retries: int
    ) -> None:
        self.base = base
        self._headers, self._query = dict(headers), dict(query)
        self._timeout, self._retries = timeout, retries
        self._session: aiohttp.ClientSession | None = None

    async def send(self, method: str, request: Request, cookies: dict[str, str]) -> Any:
        """What the server answers: JSON as data, anything else as text.

        Args:
            cookies: Sent along, and replaced by what the server sets.

        Raises:
            ToolError: The server refuses the call; the message is its own.
            EnvironmentFailure: The server is down or failing after all attempts, or refuses the key.
        """

        async def read() -> Any:  # there, since it takes a while for a large answer
            value = value_of(*await self._persisted(method, request, cookies))
            return self._without_keys(value) if self._headers or self._query else value

        return await background.run_on_loop(read())

    async def fetch(self, method: str, request: Request, cookies: dict[str, str]) -> tuple[str, str]:
        """The media type and the text of what the server answers; raises as `send` does."""
        return await background.run_on_loop(self._persisted(method, request, cookies))

    async def _persisted(self, method: str, request: Request, cookies: dict[str, str]) -> tuple[str, str]:
        from tenacity import AsyncRetrying, RetryError, retry_if_exception, stop_after_attempt

        once = method in NOT_IDEMPOTENT

        def again(error: BaseException) -> bool:
            return isinstance(error, _TryAgain) and (error.nothing_done or not once)

        retrying = AsyncRetrying(
            retry=retry_if_exception(again), stop=stop_after_attempt(self._retries + 1), wait=_pause
        )
        try:
            return await retrying(self._attempt, method, request, cookies)
        except _TryAgain as error:
            raise EnvironmentFailure(f"{error} (1 attempt: it might be done twice)") from None
        except RetryError as error:
            why = error.last_attempt.exception()
            raise EnvironmentFailure(f"{why} ({self._retries + 1} attempts)") from None

    async def _attempt(self, method: str, request: Request, cookies: dict[str, str]) -> tuple[str, str]:
        import aiohttp
        from yarl import URL

        ours = urlsplit(request.base)[:2] == urlsplit(self.base)[:2]
        headers = {
            name: value
            for name, value in self._headers.items()
            if ours and ("header", name.lower()) not in request.withheld
        }
        keys = {name: key for name, key in self._query.items() if ours and ("query", name) not in request.withheld}
        query = "&".join([*request.query, *(f"{encode(name)}={encode(key)}" for name, key in keys.items())])
        url = request.base.rstrip("/") + request.path + (f"?{query}" if query else "")
        data = request.content()
        headers |= request.headers
        if data is not None:
            headers["Content-Type"] = "application/json" if request.kind in ("", "*/*") else request.kind
        jar = {**cookies, **request.cookies}
        try:
            for _ in range(REDIRECTS):
                sending = self._opened().request(
                    method, URL(url, encoded=True), headers=headers, cookies=jar, allow_redirects=False, data=data
                )
                async with sending as answer:
                    cookies.update({name: morsel.value for name, morsel in answer.cookies.items()})
                    if answer.status not in (301, 302, 303, 307, 308):
                        kind = answer.content_type if "Content-Type" in answer.headers else "text/plain"
                        text = self._without_keys(await _text(answer))
                        refuse(answer.status, text, answer.headers)
                        return kind, text
                    url = self._redirected(request.base, url, answer.headers.get("Location", ""))
                    if answer.status < 304 and method != "head":
                        method, data = "get", None
        except TimeoutError:
            raise _TryAgain(f"the server gave no answer within {self._timeout:g} s") from None
        except aiohttp.ClientError as error:
            said = self._without_keys(clip(printable(str(error)), 200))
            unsent = isinstance(error, aiohttp.ClientConnectorError)
            raise _TryAgain(f"the server cannot be reached: {said}", nothing_done=unsent) from None
        raise EnvironmentFailure("the server redirects without end")

    def _without_keys(self, value: Any) -> Any:
        """What a server says, without the keys that it was sent and may repeat."""
        if isinstance(value, list):
            return [self._without_keys(one) for one in value]
        if isinstance(value, dict):
            return {self._without_keys(name): self._without_keys(one) for name, one in value.items()}
        if not isinstance(value, str):
            return value
        for key in (*self._headers.values(), *self._query.values()):
            for part in (key, key.rpartition(" ")[2]):
                value = value.replace(part, "[key]") if len(part) >= SHORTEST_KEY else value
        return value

    def _redirected(self, base: str, url: str, location: str) -> str:
        target = urljoin(url, location)
        if urlsplit(target)[:2] != urlsplit(base)[:2]:
            place = self._without_keys(printable(urlsplit(target).netloc.rpartition("@")[2]))
            raise EnvironmentFailure(f"the server redirects to another one, {clip(place)}")
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
    """An attempt failed in a way that may pass.

    Args:
        after: Seconds that the server asks to wait.
        nothing_done: Whether the server certainly did nothing.
    """

    def __init__(self, message: str, after: float | None = None, nothing_done: bool = False) -> None:
        super().__init__(message)
        self.after, self.nothing_done = after, nothing_done


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
            raise ToolError(f"The answer is larger than {LARGEST // 1_000_000} MB. Ask for less.")
        parts.append(part)
    try:
        return b"".join(parts).decode(answer.get_encoding(), "replace")
    except (LookupError, RuntimeError):
        return b"".join(parts).decode("utf-8", "replace")


def refuse(status: int, text: str, headers: Mapping[str, str]) -> None:
    """Raises what an answer's status means, if it is an error.

    Raises:
        ToolError, EnvironmentFailure: As `Client.send` says.
        _TryAgain: It should be asked for again.
    """
    if status in AGAIN or status >= 500:
        after = headers.get("Retry-After", "")
        seconds = float(after) if after.isdecimal() and len(after) < 9 else None
        raise _TryAgain(f"the server answers {_named(status, text)}", seconds, status in NOT_DONE)
    if status in NOT_THE_MODELS:
        raise EnvironmentFailure(f"the server answers {_named(status, text)}; check headers_env: and query_env:")
    if status >= 400:
        raised = NotFound if status in ABSENT else ToolError
        raise raised(printable(_message(text)) or _named(status, ""))


def value_of(kind: str, text: str) -> Any:
    """The value of an answer of a media type.

    Raises:
        ToolError: It is no text.
        EnvironmentFailure: It is not what it says it is.
    """
    if is_json(kind):
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise EnvironmentFailure("the server's answer is not the JSON that it says it is") from None
    if text and not kind.startswith("text/") and not kind.endswith(("xml", "json", "yaml", "javascript")):
        raise ToolError(f"The answer is of the type {clip(printable(kind))}, which cannot be shown as text.")
    return text


def _named(status: int, text: str) -> str:
    try:
        name = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        name = str(status)
    message = printable(_message(text))
    return f"{name}: {clip(message, 200)}" if message else name


def _message(text: str) -> str:
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
