"""HTTP requests of query APIs: how they are sent, what is tried again, and what an answer means."""

from __future__ import annotations

import asyncio
import functools
import json
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from r_eval.environments.base import EnvironmentFailure, NotFound, ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools import background
from r_eval.environments.tools.base import LARGEST, LONGEST_ERROR, TOO_LARGE
from r_eval.environments.tools.declared import printable
from r_eval.environments.tools.openapi_document import is_json
from r_eval.environments.tools.operations import HttpRequest

if TYPE_CHECKING:
    import aiohttp

LONGEST_WAIT = 30.0
FIRST_WAIT = 0.25
CONNECTIONS = 32
SHORTEST_KEY = 8
REFUSED_BUSY = frozenset({429, 503})
"""Statuses that say that nothing was done, so that a request which is not idempotent can be made again."""
NOT_IDEMPOTENT = frozenset({"post", "patch"})


class _RetryableError(Exception):
    """An attempt failed in a way that may pass.

    Args:
        wait: Seconds that the server asks to wait.
        is_undone: Whether the server certainly did nothing.
    """

    def __init__(self, message: str, is_undone: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.is_undone, self.wait = is_undone, wait


class Client:
    """Sends requests, on the background loop.

    Args:
        keys: Secrets that are removed from whatever a server says.
        timeout: Seconds of one attempt.
        retries: Attempts after the first one, where the server is down, busy or failing.
    """

    def __init__(self, keys: Iterable[str], timeout: float, retries: int) -> None:
        parts = [part for key in keys for part in (key, key.rpartition(" ")[2])]
        self._secrets = [part for part in parts if len(part) >= SHORTEST_KEY]
        self._timeout, self._retries = timeout, retries

    async def value(self, request: HttpRequest, cookies: dict[str, str]) -> Any:
        """What the server answers: JSON as data, anything else as text.

        Args:
            cookies: Sent along, and replaced by what the server sets.

        Raises:
            ToolError: The server refuses the call; the message is its own.
            EnvironmentFailure: The server is down or failing after all attempts, refuses the key, or redirects.
        """
        attempt = 1
        while True:
            try:
                return await self._attempt(request, cookies)
            except _RetryableError as error:
                may_be_done = request.method in NOT_IDEMPOTENT and not error.is_undone
                if attempt > self._retries or may_be_done:
                    raise EnvironmentFailure(f"{error} (attempts: {attempt})") from None
                grown = FIRST_WAIT * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.25)
                await asyncio.sleep(min(grown if error.wait is None else error.wait, LONGEST_WAIT))
                attempt += 1

    async def _attempt(self, request: HttpRequest, cookies: dict[str, str]) -> Any:
        import aiohttp
        from yarl import URL

        sending = _session().request(
            request.method,
            URL(request.url, encoded=True),
            headers=request.headers,
            cookies=cookies,
            data=request.data,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=self._timeout),
        )
        try:
            async with sending as answer:
                cookies.update({name: morsel.value for name, morsel in answer.cookies.items()})
                kind = answer.content_type if "Content-Type" in answer.headers else "text/plain"
                text = self._without_keys(await _text(answer))
                _check_status(answer, text)
                return _value_of(kind, text)
        except TimeoutError:
            raise _RetryableError(f"the server gave no answer within {self._timeout:g} s") from None
        except aiohttp.ClientError as error:
            reason = self._without_keys(clip(printable(str(error)), 200))
            is_unsent = isinstance(error, aiohttp.ClientConnectorError)
            raise _RetryableError(f"the server cannot be reached: {reason}", is_unsent) from None

    def _without_keys(self, text: str) -> str:
        """What a server says, without the keys that it was sent and may repeat."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]").replace(secret.replace("/", "\\/"), "[key]")
        return text


@functools.cache
def _session() -> aiohttp.ClientSession:
    """The session of all clients, which keeps no cookies."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0, limit_per_host=CONNECTIONS)
    session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
    background.closed_at_exit(session.close)
    return session


async def _text(answer: aiohttp.ClientResponse) -> str:
    body = bytearray()
    async for part in answer.content.iter_chunked(65536):
        body += part
        if len(body) > LARGEST:
            raise ToolError(TOO_LARGE)
    try:
        return body.decode(answer.get_encoding(), "replace").removeprefix("\ufeff")
    except (LookupError, RuntimeError):
        return body.decode("utf-8-sig", "replace")


def _check_status(answer: aiohttp.ClientResponse, text: str) -> None:
    """Raises what an answer's status means, if it is no success.

    Raises:
        ToolError, EnvironmentFailure: As `Client.value` says.
        _RetryableError: It should be requested again.
    """
    status, headers = answer.status, answer.headers
    if status < 300:
        return
    if status < 400:
        target = clip(printable(urljoin(str(answer.url), headers.get("Location", ""))).rpartition("@")[2])
        raise EnvironmentFailure(f"the server redirects to {target}: give base_url: where the API is")
    message = printable(_message(text))
    answers = f"the server answers {status}{f': {clip(message, 200)}' if message else ''}"
    if status in (408, 429) or status >= 500:
        after = headers.get("Retry-After", "")
        seconds = float(after) if after.isdecimal() and len(after) < 9 else None
        raise _RetryableError(answers, status in REFUSED_BUSY, seconds)
    if status in (401, 402):  # it is not the call that is refused
        raise EnvironmentFailure(f"{answers}; check headers_env: and query_env:")
    raise (NotFound if status in (404, 410) else ToolError)(message or f"HTTP {status}")


def _message(text: str) -> str:
    """A server's own words on an error: the message in a JSON object, or the text, unless it is a page."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.lstrip().startswith("<") else clip(text.strip(), LONGEST_ERROR)
    if isinstance(found, dict):
        found = found["error"] if isinstance(found.get("error"), dict) else found
        found = next((found[key] for key in ("error", "message", "detail") if isinstance(found.get(key), str)), found)
    return clip(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False), LONGEST_ERROR)


def _value_of(kind: str, text: str) -> Any:
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
