"""Somebody else's server, asked over HTTP: retried, bounded, and as wiki and aminer read it live, cached and limited.

Every answer to a `JsonApi` is kept on disk by requests-cache, so that a run can be repeated without a network; failures
are not kept. What is no answer after urllib3's retries is an `EnvironmentFailure` that says what came from where.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, Self

import requests
from pydantic import HttpUrl, TypeAdapter, ValidationError
from requests.adapters import HTTPAdapter
from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from r_eval import __version__
from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import MissingExtra, UserError
from r_eval.files import cache_folder, user_path
from r_eval.fingerprints import short_hash
from r_eval.text import clean_data, printable

USER_AGENT = f"r-eval/{__version__} (evaluates language models; sender not named: set user_agent) python-requests"
LONGEST_PAUSE = 60
"""Seconds between two attempts, whatever the server asks for: an episode waits here."""
TIMEOUT = 30.0
"""Seconds for which a server may be silent, and four times which an answer may last."""
RETRIES = 4
_FAILURES = (429, 500, 502, 503, 504)


class JsonApi:
    """One server, asked by any number of threads.

    Args:
        name: The environment, whose extra has the libraries.
        address: Where the API is, without a query.
        is_answer: Whether an object is an answer, and not an error that the server reports as one: it is kept.
        cache: The file that keeps answers; absent: one in the user's cache folder.
        requests_per_second: The most requests, over all sessions together.
        user_agent: How requests name their sender.
        api_key_env: The environment variable whose value is sent as the header `Authorization`.

    Attributes:
        version: Hash of the address; what the server says may change under it, and the answers that are kept do not.

    Raises:
        MissingExtra, UserError: A library is not installed; a setting is wrong; the cache cannot be written.
    """

    def __init__(
        self,
        name: str,
        address: str,
        is_answer: Callable[[dict[str, Any]], bool],
        cache: str | None = None,
        requests_per_second: float = 5.0,
        user_agent: str = USER_AGENT,
        api_key_env: str | None = None,
    ) -> None:
        self._arguments = name, address, is_answer, cache, requests_per_second, user_agent, api_key_env
        self.address, self._name, self._key_name = _checked_address(name, address), name, api_key_env
        if not requests_per_second > 0:
            raise UserError(f"{name}: requests_per_second must be above 0")
        if not (user_agent.isascii() and user_agent.isprintable() and user_agent.strip()):
            raise UserError(f"{name}: user_agent must be printable ASCII")
        self._key()
        file = user_path(cache) if cache else cache_folder() / name / "answers.sqlite"
        self._session = _cached_session(name, file, is_answer, requests_per_second)
        self._session.headers["User-Agent"] = user_agent
        self.version = short_hash(f"live {self.address}")

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), self._arguments

    def ask(self, path: str = "", /, body: Mapping[str, Any] | None = None, **parameters: Any) -> dict[str, Any]:
        """The answer to a GET with parameters, or to a POST of a JSON body.

        Raises:
            EnvironmentFailure: There is none.
        """
        key = self._key()
        try:
            response = self._session.request(
                "GET" if body is None else "POST",
                f"{self.address}/{path}" if path else self.address,
                params=parameters,
                json=body,
                headers={"Authorization": key} if key else {},
                timeout=(min(10.0, TIMEOUT), TIMEOUT),
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise self.failure(path, f"{reason_of(error, TIMEOUT)} ({RETRIES} retries)") from None
        status, answer = response.status_code, _object(response)
        if status in _FAILURES:
            raise self.failure(path, f"answered {status} after {RETRIES} retries")
        if status in (401, 403):
            raise self.failure(path, f"answered {status}: check the key (api_key_env)")
        if answer is None:
            what = "gave an answer that is not a JSON object" if status == 200 else f"answered {status}"
            raise self.failure(path, f"{what}: check the address")
        return answer

    def failure(self, path: str, what: str) -> EnvironmentFailure:
        """A failure that names the address; a key that the server repeats is removed."""
        where = f"{self.address}/{path}" if path else self.address
        message, key = printable(f"{self._name} at {where} {what}"), self._key()
        return EnvironmentFailure(message.replace(key, "***") if key else message)

    def _key(self) -> str | None:
        """The key, read when it is needed: it is in no attribute, pickle or message."""
        name = self._key_name
        if name is None:
            return None
        key = os.environ.get(name, "").strip()
        if not (key and key.isascii() and key.isprintable()):
            raise UserError(f"{self._name}: the environment variable {name} (api_key_env) is not set to a key")
        return key


def _cached_session(name: str, cache: Path, is_answer: Callable[[dict[str, Any]], bool], per_second: float) -> Any:
    try:
        from requests_cache import CachedSession
        from requests_ratelimiter import LimiterAdapter
    except ImportError as error:
        raise MissingExtra(str(error.name).replace("_", "-"), name, f"A live {name}") from None

    class PoliteAdapter(BoundedAdapter, LimiterAdapter):  # type: ignore[misc]  # whose types are not known
        seconds = 4 * TIMEOUT

    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.open("ab").close()  # for one that cannot be written, requests-cache would wait for ever
        if not os.access(cache.parent, os.W_OK):  # SQLite writes its journal there
            raise PermissionError("its folder cannot be written")
        session = CachedSession(
            str(cache),
            backend="sqlite",
            serializer="json",  # the default, pickle, would run code that somebody put into the file
            allowable_methods=("GET", "POST"),
            filter_fn=lambda response: (answer := _object(response)) is not None and is_answer(answer),
            timeout=30,
        )
    except Exception as error:  # noqa: BLE001  also sqlite3's, and what the library raises for a file that is damaged
        raise UserError(f"{name}: answers cannot be kept in {cache}: {error}") from None
    retry = PatientRetry(
        RETRIES,
        status_forcelist=_FAILURES,
        allowed_methods=None,
        backoff_factor=0.5,
        backoff_max=LONGEST_PAUSE,
        backoff_jitter=0.5,
        raise_on_status=False,
    )
    options: dict[str, Any] = {"per_second": per_second, "max_retries": retry}
    return own_session(session, PoliteAdapter(**options, pool_maxsize=64, pool_block=True))


class PatientRetry(Retry):
    """urllib3's retries, which wait as long as a server asks for, but never longer than `LONGEST_PAUSE`; where it asks
    in an unknown form, such as "0.5", they wait as after any failure.
    """

    def parse_retry_after(self, retry_after: str) -> float:
        try:
            return min(super().parse_retry_after(retry_after), LONGEST_PAUSE)
        except InvalidHeader:
            return 0


class AnswerTooLarge(requests.ConnectionError):
    """An answer has more bytes than are read."""


class BoundedAdapter(HTTPAdapter):
    """The transport of requests that reads an answer as a whole.

    Attributes:
        most_bytes: Of an answer.
        seconds: In which it must be there.
    """

    __attrs__ = [*HTTPAdapter.__attrs__, "most_bytes", "seconds"]  # what is pickled
    most_bytes = 8 * 2**20
    seconds = 120.0

    def send(self, request: Any, *arguments: Any, **settings: Any) -> requests.Response:
        """The answer.

        Raises:
            requests.ConnectionError: There is none within the bounds.
        """
        response = super().send(request, *arguments, **{**settings, "stream": True})
        body, end = bytearray(), time.monotonic() + self.seconds
        with response:
            for part in response.iter_content(2**16):
                body += part
                if len(body) > self.most_bytes:
                    raise AnswerTooLarge(f"its answer has more than {self.most_bytes >> 20} MiB")
                if time.monotonic() > end:
                    raise requests.ConnectionError("its answer timed out")
        response._content = bytes(body)
        return response


def own_session(session: Any, adapter: HTTPAdapter) -> Any:
    """A session that threads may share: it has a transport of its own, and keeps no cookies."""
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def reason_of(error: requests.RequestException, seconds: float) -> str:
    """Why there is no answer, without the address, which may have a key in it."""
    if isinstance(error, requests.Timeout) or "timed out" in str(error):
        return f"gave no answer within {seconds:g} s"
    inner = getattr(error.args[0] if error.args else None, "reason", error)
    return f"cannot be reached, or broke off: {printable(str(inner).rpartition(': ')[2])[:300]}"


def _object(response: requests.Response) -> dict[str, Any] | None:
    """The JSON object in an answer, without control characters; None where there is none."""
    try:
        value = clean_data(json.loads(response.content), clean=printable) if response.status_code == 200 else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _checked_address(name: str, address: str) -> str:
    try:
        parts = TypeAdapter(HttpUrl).validate_python(address)
    except ValidationError:
        parts = None
    if parts is None or parts.username or parts.query or parts.fragment:
        expected = "http(s)://host/path, without a name, a query or a fragment"
        raise UserError(f"{name}: '{address}' is not the address of an API: expected {expected}")
    return address.rstrip("/")
