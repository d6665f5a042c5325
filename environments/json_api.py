"""A JSON API of somebody else's server, as wiki and aminer read it live: cached, rate-limited, retried, bounded.

Every answer is kept on disk by requests-cache, so that a run can be repeated without a network; failures are not kept.
What is no answer after urllib3's retries is an `EnvironmentFailure` that says what came from where.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import HttpUrl, TypeAdapter, ValidationError

from r_eval import __version__
from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import MissingExtra, UserError
from r_eval.files import cache_folder, user_path
from r_eval.fingerprints import short_hash
from r_eval.text import clean_data, printable

if TYPE_CHECKING:
    import requests

USER_AGENT = f"r-eval/{__version__} (evaluates language models; sender not named: set user_agent) python-requests"
MOST_BYTES = 8 * 2**20
"""Of one answer."""
LONGEST_PAUSE = 60
"""Seconds between two attempts, whatever the server asks for: an episode waits here."""
_FAILURES = (429, 500, 502, 503, 504)


class ApiSettings(NamedTuple):
    """How a server is asked.

    Attributes:
        cache: The file that keeps answers; absent: one in the user's cache folder.
        requests_per_second: The most requests, over all sessions together.
        timeout: Seconds for which a server may stay silent, and four times which an answer may last.
        retries: How often a request is repeated.
        user_agent: How requests name their sender.
        api_key_env: The environment variable whose value is sent as the header `Authorization`.
    """

    cache: str | None = None
    requests_per_second: float = 5.0
    timeout: float = 30.0
    retries: int = 4
    user_agent: str = USER_AGENT
    api_key_env: str | None = None


class JsonApi:
    """One server, asked by any number of threads.

    Args:
        name: The environment, whose extra has the libraries.
        address: Where the API is, without a query.
        settings: How it is asked.
        is_answer: Whether an object is an answer, and not an error that the server reports as one: it is kept.

    Attributes:
        version: Hash of the address; what the server says may change under it, and the answers that are kept do not.

    Raises:
        MissingExtra, UserError: A library is not installed; a setting is wrong; the cache cannot be written.
    """

    def __init__(
        self, name: str, address: str, settings: ApiSettings, is_answer: Callable[[dict[str, Any]], bool]
    ) -> None:
        self._arguments = name, address, settings, is_answer
        self.address, self._name, self._settings = _checked_address(name, address), name, settings
        if not settings.requests_per_second > 0 or not 0 < settings.timeout <= 3600 or not 0 <= settings.retries <= 20:
            limits = "requests_per_second must be above 0, timeout at most 3600 seconds and above 0, retries 0 to 20"
            raise UserError(f"{name}: {limits}")
        if not (settings.user_agent.isascii() and settings.user_agent.isprintable() and settings.user_agent.strip()):
            raise UserError(f"{name}: user_agent must be printable ASCII")
        self._key()
        cache = user_path(settings.cache) if settings.cache else cache_folder() / name / "answers.sqlite"
        self._session = _session(name, cache, settings, is_answer)
        self.version = short_hash(f"live {self.address}")

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), self._arguments

    def get(self, path: str = "", /, **parameters: Any) -> dict[str, Any]:
        """The answer to a GET.

        Raises:
            EnvironmentFailure: There is none.
        """
        return self._ask("GET", path, params=parameters)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a POST of a JSON body.

        Raises:
            EnvironmentFailure: There is none.
        """
        return self._ask("POST", path, json=body)

    def failure(self, path: str, what: str) -> EnvironmentFailure:
        """A failure that names the address; a key that the server repeats is removed."""
        where = f"{self.address}/{path}" if path else self.address
        message, key = printable(f"{self._name} at {where} {what}"), self._key()
        return EnvironmentFailure(message.replace(key, "***") if key else message)

    def _ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        import requests

        settings, key = self._settings, self._key()
        url = f"{self.address}/{path}" if path else self.address
        headers = {"Authorization": key} if key else {}
        timeout = (min(10.0, settings.timeout), settings.timeout)
        try:
            response = self._session.request(
                method, url, timeout=timeout, allow_redirects=False, headers=headers, **request
            )
        except requests.RequestException as error:
            is_silent = isinstance(error, requests.Timeout) or "timed out" in str(error)
            why = "was silent for too long" if is_silent else f"cannot be reached, or broke off: {error}"
            raise self.failure(path, f"{why[:300]} ({settings.retries} retries)") from None
        status, answer = response.status_code, _object(response)
        if status in _FAILURES:
            raise self.failure(path, f"answered {status} after {settings.retries} retries")
        if status in (401, 403):
            raise self.failure(path, f"answered {status}: check the key (api_key_env)")
        if answer is None:
            what = "gave an answer that is not a JSON object" if status == 200 else f"answered {status}"
            raise self.failure(path, f"{what}: check the address")
        return answer

    def _key(self) -> str | None:
        """The key, read when it is needed: it is in no attribute, pickle or message."""
        name = self._settings.api_key_env
        if name is None:
            return None
        key = os.environ.get(name, "").strip()
        if not (key and key.isascii() and key.isprintable()):
            raise UserError(f"{self._name}: the environment variable {name} (api_key_env) is not set to a key")
        return key


def _session(name: str, cache: Path, settings: ApiSettings, is_answer: Callable[[dict[str, Any]], bool]) -> Any:
    from http.cookiejar import DefaultCookiePolicy

    try:
        from requests_cache import CachedSession

        adapter = _adapter(settings)
    except ImportError as error:
        raise MissingExtra(str(error.name).replace("_", "-"), name, f"A live {name}") from None
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
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # threads share the session: no state in it
    session.headers["User-Agent"] = settings.user_agent
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _adapter(settings: ApiSettings) -> Any:
    """The transport: urllib3's retries within the rate limit, and a bound on what is read."""
    import requests
    from requests_ratelimiter import LimiterAdapter
    from urllib3.util import Retry

    class PatientRetry(Retry):
        def parse_retry_after(self, retry_after: str) -> float:
            return min(super().parse_retry_after(retry_after), LONGEST_PAUSE)

    class BoundedAdapter(LimiterAdapter):  # type: ignore[misc]  # its library is not there when types are checked
        def send(self, request: Any, **kwargs: Any) -> requests.Response:
            response: requests.Response = super().send(request, **{**kwargs, "stream": True})
            body, end = bytearray(), time.monotonic() + 4 * settings.timeout
            with response:
                for part in response.iter_content(2**16):
                    body += part
                    if len(body) > MOST_BYTES:
                        raise requests.ConnectionError(f"its answer has more than {MOST_BYTES >> 20} MiB")
                    if time.monotonic() > end:
                        raise requests.ConnectionError("its answer timed out")
            response._content = bytes(body)
            return response

    retry = PatientRetry(
        settings.retries,
        status_forcelist=_FAILURES,
        allowed_methods=None,
        backoff_factor=0.5,
        backoff_max=LONGEST_PAUSE,
        backoff_jitter=0.5,
        raise_on_status=False,
    )
    return BoundedAdapter(per_second=settings.requests_per_second, max_retries=retry, pool_maxsize=64, pool_block=True)


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
