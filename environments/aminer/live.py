"""An AMiner server as a source of the query APIs: bounded requests, bounded retries, one shape of result.

A connection that fails, a silent server and the answers 429 and 5xx are tried again with growing pauses, or with
the pause that the server asks for. What then remains, and a body that is not of the protocol, is an
`EnvironmentFailure` that says what came from where. The key is read from its environment variable when it is
needed; it stands in no attribute, pickle or message.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import MissingExtra, UserError

from . import answers, protocol
from .shapes import Coauthor, FoundPublication, Person, PersonInfo, PersonPublication, Publication

if TYPE_CHECKING:
    import requests
    import tenacity

Value = TypeVar("Value")
PUBLIC = "https://soay.aminer.cn"
"""AMiner's own server for this protocol, a frozen copy of its database; it asks for no key."""
PAGE = 100
MOST_PUBLICATIONS = 10_000
"""Of one scholar, after which no further page is asked for."""
MOST_BYTES = 32 * 2**20
"""Of one answer."""
_CONNECT_SECONDS = 10.0
_LONGEST_PAUSE = 60.0
_CONNECTIONS = 64
_PASSING = frozenset([429, 500, 502, 503, 504])


class _Passing(Exception):
    """A failure that may be gone at the next try; `pause` is what the server asked for, in seconds."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Live:
    """One server.

    Args:
        base_url: Its address; the APIs' names are appended.
        api_key_env: The environment variable whose value is sent as the header `Authorization`; None sends none.
        timeout: Seconds that the server may stay silent, and four times which an answer may last.
        retries: How often a request is repeated.

    Raises:
        MissingExtra: requests is not installed.
        UserError: A setting is wrong, or the variable is not set.
    """

    def __init__(self, base_url: str, api_key_env: str | None = None, timeout: float = 30.0, retries: int = 4) -> None:
        _check_address(base_url)
        if not 0 < timeout <= 3600 or not 0 <= retries <= 20:
            raise UserError("aminer: timeout must be above 0 and at most 3600 seconds, retries from 0 to 20")
        self._base = base_url.rstrip("/")
        self._key_name = api_key_env
        self._timeout = timeout
        self._retries = retries
        self._key()
        self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._session = _session()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_session", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()

    @property
    def version(self) -> str:
        """A hash of the address: what a server knows may change without a sign."""
        return hashlib.blake2b(self._base.encode(), digest_size=8).hexdigest()

    def find_persons(self, name: str | None, organization: str | None, interest: str | None) -> list[Person]:
        body = self._post("searchPerson", protocol.person_query(name, organization, interest))
        return self._read("searchPerson", answers.read_persons, body)

    def find_publications(self, text: str) -> list[FoundPublication]:
        body = self._post("searchPublication", protocol.publication_query(text))
        return self._read("searchPublication", answers.read_publications, body)

    def coauthors(self, person_id: str) -> list[Coauthor] | None:
        found = self._read("getCoauthors", answers.read_coauthors, self._get("getCoauthors", person_id))
        return None if found is None else sorted(found, key=lambda other: (other.name, other.person_id))

    def interests(self, person_id: str) -> list[str] | None:
        return self._read("getPersonInterest", answers.read_interests, self._get("getPersonInterest", person_id))

    def profile(self, person_id: str) -> PersonInfo | None:
        body = self._get("getPersonBasicInfo", person_id)
        return self._read("getPersonBasicInfo", lambda body: answers.read_profile(body, person_id), body)

    def person_publications(self, person_id: str) -> list[PersonPublication] | None:
        """All pages, since a model asks once; a server whose pages repeat themselves is asked no further."""
        found: dict[str, PersonPublication] = {}
        while len(found) < MOST_PUBLICATIONS:
            place = {"offset": str(len(found)), "size": str(PAGE), "order": "citation"}
            page = self._read("getPersonPubs", answers.read_page, self._get("getPersonPubs", person_id, place))
            if page is None and not found:
                return None
            new = {paper.pub_id: paper for paper in page or [] if paper.pub_id not in found}
            if not new:
                break
            found |= new
        return sorted(found.values(), key=lambda paper: (-paper.num_citation, paper.pub_id))

    def publication(self, publication_id: str) -> Publication | None:
        body = self._get("getPublication", publication_id)
        return self._read("getPublication", lambda body: answers.read_publication(body, publication_id), body)

    def records(self, kind: str) -> list[dict[str, Any]]:
        raise KeyError(f"{kind} (a live AMiner cannot be listed; templates need a snapshot)")

    def _get(self, api: str, key: str, more: Mapping[str, str] | None = None) -> Any:
        return self._ask("GET", api, params={"id": key, **(more or {})})

    def _post(self, api: str, body: dict[str, Any]) -> Any:
        return self._ask("POST", api, data=json.dumps(body), headers={"Content-Type": "application/json"})

    def _read(self, api: str, read: Callable[[Any], Value], body: Any) -> Value:
        try:
            return read(body)
        except answers.Malformed as error:
            raise EnvironmentFailure(self._say(api, f"gave an answer that is not AMiner's: {error}")) from None

    def _ask(self, method: str, api: str, **request: Any) -> Any:
        import tenacity

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Passing),
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=_pause,
            reraise=True,
        )
        try:
            return retrying(self._ask_once, method, api, **request)
        except _Passing as error:
            tries = "once" if not self._retries else f"{self._retries + 1} times"
            raise EnvironmentFailure(self._say(api, f"{error} (tried {tries})")) from None

    def _ask_once(self, method: str, api: str, **request: Any) -> Any:
        import requests

        key = self._key()
        headers = {
            "Accept": "application/json",
            **request.pop("headers", {}),
            **({"Authorization": key} if key else {}),
        }
        timeouts = (min(_CONNECT_SECONDS, self._timeout), self._timeout)
        try:
            with self._session.request(
                method,
                f"{self._base}/{api}",
                headers=headers,
                timeout=timeouts,
                stream=True,
                allow_redirects=False,
                **request,
            ) as response:
                self._check_status(api, response)
                return json.loads(self._body(api, response))
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            raise _Passing("cannot be reached, or broke off") from None
        except requests.Timeout:
            raise _Passing(f"was silent for {self._timeout:g} seconds") from None
        except requests.RequestException as error:
            raise EnvironmentFailure(self._say(api, f"cannot be asked: {type(error).__name__}")) from None
        except (ValueError, RecursionError):
            raise EnvironmentFailure(self._say(api, "gave an answer that is no JSON")) from None

    def _check_status(self, api: str, response: requests.Response) -> None:
        status = response.status_code
        if status in _PASSING:
            raise _Passing(f"answered {status}", _retry_after(response.headers.get("Retry-After")))
        if status in (401, 403):
            key = f"the key in {self._key_name}" if self._key_name else "that no key was sent (api_key_env)"
            raise EnvironmentFailure(self._say(api, f"answered {status}: check {key}"))
        if status != 200:
            raise EnvironmentFailure(self._say(api, f"answered {status}: check base_url"))

    def _body(self, api: str, response: requests.Response) -> bytes:
        parts, size, end = [], 0, time.monotonic() + 4 * self._timeout
        for part in response.iter_content(2**16):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise EnvironmentFailure(self._say(api, f"gave an answer of more than {MOST_BYTES >> 20} MiB"))
            if time.monotonic() > end:
                raise _Passing(f"did not finish its answer in {4 * self._timeout:g} seconds")
        return b"".join(parts)

    def _say(self, api: str, what: str) -> str:
        """A message; should the server have repeated the key, it is not passed on."""
        message = f"AMiner at {self._base}/{api} {what}"
        key = self._key()
        return message.replace(key, "***") if key else message

    def _key(self) -> str | None:
        if self._key_name is None:
            return None
        key = os.environ.get(self._key_name, "").strip()
        if not key:
            raise UserError(f"aminer: the environment variable {self._key_name} (api_key_env) is not set")
        if not (key.isascii() and key.isprintable()):
            raise UserError(f"aminer: the environment variable {self._key_name} holds characters that no header can")
        return key


def _session() -> requests.Session:
    try:
        import requests
        from requests.adapters import HTTPAdapter
    except ImportError:
        raise MissingExtra("requests", "aminer", "A live AMiner") from None
    from http.cookiejar import DefaultCookiePolicy

    session = requests.Session()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # threads share the session: no state in it
    session.headers["User-Agent"] = "r-eval"
    adapter = HTTPAdapter(pool_connections=4, pool_maxsize=_CONNECTIONS, pool_block=True)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _check_address(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.username or parts.query or parts.fragment:
        raise UserError("aminer: base_url must look like https://host:port/path, without a name, a query or a fragment")


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number of seconds or a date; None for what is neither."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _pause(state: tenacity.RetryCallState) -> float:
    import tenacity

    error = state.outcome.exception() if state.outcome else None
    asked = error.pause if isinstance(error, _Passing) else None
    if asked is not None:
        return min(asked, _LONGEST_PAUSE)
    return float(tenacity.wait_random_exponential(multiplier=0.5, max=20)(state))
