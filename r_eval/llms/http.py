"""One attempt at an OpenAI-compatible server: a POST, and what its answer means.

An answer is a reply, a failure that may pass (`Passing`), a parameter that the server does not take (`Refused`), or an
error for good (`LLMError`). A key that a server repeats is struck out of everything that it says.
"""

from __future__ import annotations

import email.utils
import functools
import json
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from r_eval.llms.base import LLMError

if TYPE_CHECKING:
    import aiohttp

RETRIED = frozenset({408, 409, 429})
OPTIONAL = r"\b(temperature|stop|max_tokens|tool_choice|seed)\b"
"""Parameters that a request can do without."""
UNSUPPORTED = re.compile(
    rf"(?:unsupported|unrecognized|unknown|not support|does not take|not allowed).*?{OPTIONAL}"
    rf"|{OPTIONAL}.*?(?:unsupported|not supported|not allowed|does not support)",
    re.IGNORECASE | re.DOTALL,
)
TOO_LONG = re.compile(r"context.*(?:length|exceed|maximum|size)|(?:length|exceed|maximum|size).*context", re.I | re.S)
NO_MODEL = re.compile(r"\bmodel\b.*(?:not found|not exist|unknown|no such)|(?:unknown|no such) model", re.I | re.S)
LONGEST_QUOTE = 300


class Passing(Exception):
    """A failed attempt that is worth another.

    Attributes:
        cause: As that of an `LLMError`.
        wait: Seconds that the server asks to wait, if it does.
        absent: Whether nothing answers at the address at all.
    """

    def __init__(self, cause: str, message: str, wait: float | None = None, absent: bool = False) -> None:
        super().__init__(message)
        self.cause, self.wait, self.absent = cause, wait, absent


class Refused(Exception):
    """The server does not take a parameter of the request."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


@functools.cache
def address(base_url: str, path: str) -> str:
    """An address below a server's base; a query that the base has (a gateway's version, say) stays at the end."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}"))


async def post(session: aiohttp.ClientSession, url: str, body: bytes, secret: str, name: str) -> dict[str, Any]:
    """The JSON of a server's answer.

    Args:
        secret: The key, which is struck out of what the server says.
        name: The LLM's, for messages.

    Raises:
        Passing, Refused, LLMError: See above.
    """
    import aiohttp

    try:
        json_body = {"Content-Type": "application/json"}
        async with session.post(url, data=body, headers=json_body, allow_redirects=False) as answer:
            text = await answer.text(encoding="utf-8", errors="replace")
            status, wait = answer.status, answer.headers.get("Retry-After", "")
            elsewhere = answer.headers.get("Location", "")
    except TimeoutError:
        raise Passing("timeout", "no answer in time") from None
    except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
        why = getattr(error, "os_error", None) or error
        message = f"no server answers at {url} ({str(why) or type(why).__name__})"
        raise Passing("connection", message, absent=True) from None
    except aiohttp.ClientError as error:
        raise Passing("connection", f"{type(error).__name__}: {error}") from None
    if secret:
        text = text.replace(secret, "[key]")
    if status in RETRIED or status >= 500:
        cause = "rate_limit" if status == 429 else "server"
        raise Passing(cause, f"HTTP {status}: {said(text)}", asked_wait(wait))
    if status >= 400:
        raise refusal(status, said(text), name)
    if status >= 300:  # nothing is sent where the grid has not said so, a key least of all
        host = urlsplit(elsewhere).netloc.rpartition("@")[2] or "another path"
        why = f"it redirects to {host}; if that is right, name that address as base_url"
        raise LLMError("request", f"{name}: HTTP {status}: {why}")
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        raise Passing("reply", f"not JSON: {text[:100]!r}") from None


def refusal(status: int, message: str, name: str) -> Exception:
    """What a status of 4xx means that is not worth another attempt."""
    parameter = UNSUPPORTED.search(message) if status in (400, 422) else None
    if parameter is not None:
        return Refused(next(name for name in parameter.groups() if name).lower())
    if status in (401, 403):
        cause = "key"
    elif TOO_LONG.search(message):
        cause = "context"
    else:
        cause = "model" if status in (400, 404) and NO_MODEL.search(message) else "request"
    return LLMError(cause, f"{name}: HTTP {status}: {message}")


def asked_wait(header: str) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date; None where it says nothing."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def said(text: str) -> str:
    """The message in a server's error body, one line."""
    try:
        data = json.loads(text)
        inner = data.get("error", data) if isinstance(data, dict) else data
        text = str(inner.get("message", inner)) if isinstance(inner, dict) else str(inner)
    except (ValueError, RecursionError):
        pass
    return " ".join(text.split())[:LONGEST_QUOTE]
