"""Polite questions to a MediaWiki's API: not too many at once, never twice the same, again when it was busy.

The `wikipedia` client was looked at and is not what asks: its address, language, rate limit and caches belong to the
whole process, so that two wikis, or threads, would change each other's; its requests have no time limit, and what an
error page says is read as an answer. What it does is one GET, which is here, over requests and tenacity.
"""

from __future__ import annotations

import email.utils
import json
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import tenacity

from r_eval import __version__
from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    import requests

    from .replies import Replies

USER_AGENT = f"r-eval/{__version__} (evaluates language models; sender not named: set user_agent) python-requests"
REQUESTS_PER_SECOND = 5.0
LONGEST_WAIT = 60.0
"""Seconds; a wiki that asks for a longer pause has failed, since what waits here is an episode."""
_BUSY = frozenset(("maxlag", "ratelimited", "readonly"))
"""API errors that pass; those of the wiki's database do as well."""


class Pace:
    """Spaces requests evenly, over all threads.

    Args:
        requests_per_second: At most.
    """

    def __init__(self, requests_per_second: float) -> None:
        self._interval = 1.0 / requests_per_second
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Return when it is this request's turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._interval
        time.sleep(turn - now)

    def pause(self, seconds: float) -> None:
        """Let nobody's turn come before so many seconds have passed."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


class _Busy(Exception):
    """A request that may go well when it is made again; `after` is how many seconds the wiki asks to wait for."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


class MediaWiki:
    """One MediaWiki's API, asked by any number of threads.

    Args:
        address: Of its `api.php`.
        replies: What it answered is kept there, failures excepted.
        pace: Gives every request its turn.
        user_agent: How requests name their sender.
        timeout: Seconds for which nothing may come.
        attempts: How often a request is made until its failure is final.
        backoff: Seconds before the second attempt, doubled before each further one.
    """

    def __init__(
        self,
        address: str,
        replies: Replies,
        pace: Pace,
        user_agent: str = USER_AGENT,
        timeout: float = 20.0,
        attempts: int = 5,
        backoff: float = 1.0,
    ) -> None:
        try:
            import requests
        except ImportError:
            raise MissingExtra("requests", "wiki", "Reading a live wiki") from None
        self.address, self._replies, self._pace = address, replies, pace
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "gzip"}
        self._timeout = timeout
        self._connections = threading.local()
        self._new_connection = requests.Session
        waits = tenacity.wait_exponential_jitter(initial=backoff, max=LONGEST_WAIT, jitter=backoff)
        self._retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Busy),
            stop=tenacity.stop_after_attempt(attempts),
            wait=lambda state: max(_asked_pause(state), waits(state)),
            before_sleep=lambda state: self._pace.pause(_asked_pause(state)),
            reraise=True,
        )

    def ask(self, **parameters: str | int) -> dict[str, Any]:
        """The wiki's answer to a request, from what is kept or from the wiki.

        Raises:
            EnvironmentFailure: It cannot be reached, does not answer in time, is busy for too long, or refuses.
        """
        every = {**parameters, "format": "json", "formatversion": "2"}
        request = f"{self.address}?{urlencode(sorted(every.items()))}"
        kept = self._replies.get(request)
        if kept is None:
            try:
                kept = self._replies.keep(request, self._retrying(self._attempt, every))
            except _Busy as busy:
                raise EnvironmentFailure(f"the wiki at {self.address} {busy}") from busy
        answer: dict[str, Any] = json.loads(kept)
        return answer

    def _attempt(self, parameters: Mapping[str, str | int]) -> bytes:
        import requests

        self._pace.wait()
        try:
            response = self._connection().get(
                self.address,
                params=parameters,
                headers=self._headers,
                timeout=self._timeout,
                allow_redirects=False,
            )
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise _Busy(f"cannot be reached: {type(error).__name__}") from error
        except requests.RequestException as error:
            raise EnvironmentFailure(f"the wiki at {self.address} cannot be asked: {error}") from error
        if response.status_code == 429 or response.status_code >= 500:
            raise self._busy(f"answered with status {response.status_code}", response)
        if response.status_code != 200:
            raise EnvironmentFailure(f"the wiki at {self.address} refused with status {response.status_code}")
        try:
            answer = json.loads(response.content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise EnvironmentFailure(f"what {self.address} answered is not of MediaWiki's API; is it an api.php?")
        if "error" in answer:
            raise self._refusal(answer["error"], response)
        return response.content

    def _refusal(self, error: Any, response: requests.Response) -> _Busy | EnvironmentFailure:
        code, info = (str(error.get(name, "")) if isinstance(error, dict) else "" for name in ("code", "info"))
        if code in _BUSY or code.startswith("internal_api_error_DB"):
            return self._busy(f"is busy: {code}", response)
        return EnvironmentFailure(f"the wiki at {self.address} refused: {code}: {info[:200]}")

    def _busy(self, reason: str, response: requests.Response) -> _Busy | EnvironmentFailure:
        after = _seconds(response.headers.get("Retry-After", ""))
        if after > LONGEST_WAIT:
            return EnvironmentFailure(f"the wiki at {self.address} {reason} and asks to wait for {after:.0f} seconds")
        return _Busy(reason, after)

    def _connection(self) -> requests.Session:
        """This thread's own, since a requests session is not made for several."""
        if not hasattr(self._connections, "session"):
            self._connections.session = self._new_connection()
        session: requests.Session = self._connections.session
        return session


def checked_address(address: str) -> str:
    """An address of an `api.php`, as it was given.

    Raises:
        ValueError: It is none of HTTP.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(
            f"api_url: '{address}' is not the address of an api.php, as https://en.wikipedia.org/w/api.php"
        )
    return address


def _asked_pause(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return error.after if isinstance(error, _Busy) else 0.0


def _seconds(retry_after: str) -> float:
    """The seconds of a Retry-After header, which is a number or a date; 0 where it is neither."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        date = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    return max(0.0, (date.astimezone(UTC) - datetime.now(UTC)).total_seconds())
