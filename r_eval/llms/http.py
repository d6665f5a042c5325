"""One attempt at an OpenAI-compatible server: a POST, and what its answer means.

An answer is a reply, a failure that may pass (`Passing`), a parameter that the server does not take (`Refused`), or an
error for good (`LLMError`). A key that a server repeats is removed from error texts; a reply is never touched, since
the dummy keys of local servers (`none`, `test`, `1`) are parts of many answers.
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
TOO_LONG = re.compile(
    r"context.*(?:length|exceed|maximum|size)|(?:length|exceed|maximum|size).*context"
    r"|(?:prompt|input|request|messages?)\W+(?:\w+\W+){0,2}too (?:long|large)|input token count.{0,40}exceed"
    r"|max_new_tokens. must be|reduce the length of the|range of input length|too many (?:input )?tokens"
    r"|(?:prompt|input) (?:tokens? )?exceeds? the",
    re.I | re.S,
)
FILTERED = re.compile(
    r"content[_ ](?:filter|management|policy)|responsible ?ai|data_inspection_failed|prohibited_content"
    r"|content exists risk|inappropriate content|flagged by|guardrail|usage polic",
    re.I,
)
QUOTA = re.compile(
    r"insufficient_quota|insufficient balance|billing_hard_limit|exceeded your current quota|credit balance is too low"
    r"|requires? more credits|payment required|arrearage|account_deactivated",
    re.I,
)
PER_MINUTE = re.compile(r"tokens per min|requests per min|per minute|\bTPM\b|\bRPM\b", re.I)
NOT_PERMITTED = re.compile(r"extra_forbidden|not permitted", re.I)
NO_MODEL = re.compile(r"\bmodel\b.*(?:not found|not exist|unknown|no such)|(?:unknown|no such) model", re.I | re.S)
LONGEST_QUOTE = 300
LONGEST_ERROR = 10_000
"""Characters of an error text that are looked at."""
LARGEST = 16 << 20
"""Bytes of an answer, decompressed; reading stops there."""
SHORTEST_KEY = 6
"""Characters from which on a key is removed from error texts."""


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
        secret: The key, which is removed from error texts.
        name: The LLM's, for messages.

    Raises:
        Passing, Refused, LLMError: See above.
    """
    import aiohttp

    try:
        json_body = {"Content-Type": "application/json"}
        async with session.post(url, data=body, headers=json_body, allow_redirects=False) as answer:
            text = (await _body(answer, name)).decode("utf-8", "replace")
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
    if status == 200 and (inside := _status_inside(text)):
        status = inside
    if status == 402 or (status in (403, 429) and QUOTA.search(text)):
        raise LLMError("quota", f"{name}: HTTP {status}: {said(text, secret)}")
    if status in RETRIED or status >= 500:
        cause = "rate_limit" if status == 429 else "server"
        raise Passing(cause, f"HTTP {status}: {said(text, secret)}", asked_wait(wait))
    if status >= 400:
        raise refusal(status, said(text, secret), name, error_code(text))
    if status >= 300:  # nothing is sent where the grid has not said so, a key least of all
        host = without_key(urlsplit(elsewhere).netloc.rpartition("@")[2], secret) or "another path"
        why = f"it redirects to {host}; if that is right, name that address as base_url"
        raise LLMError("request", f"{name}: HTTP {status}: {why}")
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        raise Passing("reply", f"not JSON: {without_key(text[:LONGEST_ERROR], secret)[:100]!r}") from None


async def _body(answer: aiohttp.ClientResponse, name: str) -> bytes:
    """The body of an answer.

    Raises:
        LLMError: It is larger than any reply; the rest is not read.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.content.iter_any():
        size += len(piece)
        if size > LARGEST:
            answer.close()
            raise LLMError("reply", f"{name}: the answer is larger than {LARGEST >> 20} MB")
        pieces.append(piece)
    return b"".join(pieces)


def _status_inside(text: str) -> int:
    """The status that an answer of 200 really has, since some gateways put an error into it; 0 for no error."""
    if '"error"' not in text or '"choices"' in text:
        return 0
    try:
        error = json.loads(text).get("error")
    except (ValueError, RecursionError, AttributeError):
        return 0
    if not error:
        return 0
    given = error.get("code") if isinstance(error, dict) else None
    return given if isinstance(given, int) and not isinstance(given, bool) and 400 <= given < 600 else 500


def refusal(status: int, message: str, name: str, code: str = "") -> Exception:
    """What a status of 4xx means that is not worth another attempt.

    Args:
        code: What the body has as code, type and parameter of the error; it counts more than the wording.
    """
    for cause, pattern in (("content_filter", FILTERED), ("quota", QUOTA), ("context", TOO_LONG)):
        if pattern.search(code):
            return LLMError(cause, f"{name}: HTTP {status}: {message}")
    if status in (400, 403, 422) and FILTERED.search(message):
        return LLMError("content_filter", f"{name}: HTTP {status}: {message}")
    if QUOTA.search(message):
        return LLMError("quota", f"{name}: HTTP {status}: {message}")
    parameter = UNSUPPORTED.search(message) if status in (400, 422) else None
    if parameter is None and status in (400, 422) and NOT_PERMITTED.search(message):
        parameter = re.search(OPTIONAL, message)
    if parameter is not None:
        return Refused(next(name for name in parameter.groups() if name).lower())
    if status in (401, 403):
        cause = "key"
    elif status == 413 and PER_MINUTE.search(message):
        cause = "context"  # the request alone is more than a minute's tokens, so it can never be sent whole
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


def error_code(text: str) -> str:
    """What an error body says of itself in fields: code, type and parameter."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    data = data[0] if isinstance(data, list) and data else data
    inner = data.get("error", data) if isinstance(data, dict) else {}
    fields = [inner, inner.get("innererror"), data] if isinstance(inner, dict) else [data]
    keys = ("code", "type", "param", "status")
    return " ".join(str(f[k])[:100] for f in fields if isinstance(f, dict) for k in keys if isinstance(f.get(k), str))


def without_key(text: str, secret: str) -> str:
    """A text without the key, each of whose characters may be escaped as JSON, URLs or HTML do.

    Keys shorter than `SHORTEST_KEY` are dummies, and stay.
    """
    return _any_escaping(secret).sub("[key]", text) if len(secret) >= SHORTEST_KEY else text


@functools.cache
def _any_escaping(secret: str) -> re.Pattern[str]:
    forms = []
    for c in secret:
        code = f"{ord(c):04x}"
        percent = "".join(rf"%{byte:02x}" for byte in c.encode())
        forms.append(rf"(?:\\{{0,4}}{re.escape(c)}|\\{{1,4}}u{code}|{percent}|&#(?:{ord(c)}|x0*{code.lstrip('0')});)")
    return re.compile("".join(forms), re.IGNORECASE)


def said(text: str, secret: str) -> str:
    """The message in a server's error body, one line, without the key."""
    try:
        data = json.loads(text)
        inner = data.get("error", data) if isinstance(data, dict) else data
        text = str(inner.get("message", inner)) if isinstance(inner, dict) else str(inner)
    except (ValueError, RecursionError):
        pass
    return " ".join(without_key(text[:LONGEST_ERROR], secret).split())[:LONGEST_QUOTE]
