"""`openapi:<file or URL>`: the operations of an HTTP API that an OpenAPI 3 document describes, as query APIs.

`openapi_document` reads the document, `operations` writes the requests; here they are sent, what may be is tried again,
and an answer is understood.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from r_eval.environments.base import EnvironmentFailure, NotFound, ToolError, threads
from r_eval.environments.json_api import AnswerTooLarge, BoundedAdapter, PatientRetry, own_session, reason_of
from r_eval.environments.schema import clip
from r_eval.environments.tools.base import (
    LARGEST,
    LONGEST_ERROR,
    TOO_LARGE,
    RemoteTool,
    ToolEnvironment,
    from_variables,
    name_list,
)
from r_eval.environments.tools.openapi_document import address_of, is_json, mapping, parse
from r_eval.environments.tools.operations import READING, HttpRequest, Keys, Operation, choose_operations, key_place
from r_eval.files import user_path
from r_eval.fingerprints import short_hash
from r_eval.text import printable

SHORTEST_KEY = 8
OLD_JSON = ("text/json", "text/x-json", "application/x-json")
"""What JSON is called where it is not called application/json."""
BINARY = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip")
"""Media types that are no text, whatever their bytes are."""


class OpenAPI(ToolEnvironment):
    """An HTTP API."""

    def __init__(
        self,
        document: str,
        operations: Sequence[str] | str | None = None,
        base_url: str | None = None,
        headers_env: Mapping[str, str] | None = None,
        query_env: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        description: str = "",
    ) -> None:
        """Read the document; the API itself is not called.

        Args:
            document: File or URL of the OpenAPI document, JSON or YAML.
            operations: operationIds or `METHOD /path`, or globs of either; by default all. A text has commas between
                them.
            base_url: Where the API is, if not where the document says.
            headers_env: Headers of every request, each with the name of the environment variable that holds its value.
            query_env: The same for query parameters.
            timeout: Seconds for which the server may be silent.
            retries: Attempts after the first, where the server is down, busy (429) or failing (5xx).
            description: What a model reads about the domain, in place of the document's description.

        Raises:
            OSError, EnvironmentFailure: The document cannot be read.
            ValueError: It is no OpenAPI 3 document, or has no operation that can be offered.
        """
        source = document if document.startswith(("http://", "https://")) else ""
        text = _fetched(document, timeout) if source else user_path(document).read_text(encoding="utf-8")
        parsed = parse(text, document)
        settings = {"header": from_variables(headers_env or {}), "query": from_variables(query_env or {})}
        keys = {key_place(where, name): key for where, names in settings.items() for name, key in names.items()}
        chosen = choose_operations(parsed, None if operations is None else name_list(operations), keys, source)
        tools = [RemoteTool(one.name, one.method in READING, one.read, one) for one in chosen]
        self._offer(f"openapi:{document}", tools, "choose some with operations:")
        own = base_url or address_of([parsed], source)
        self._requests: dict[str, tuple[Operation, str, Keys]] = {}
        for name, operation in self._targets.items():
            base = base_url or operation.base
            if not base.startswith(("http://", "https://")):
                why = f"base_url: {base_url} is no http:// or https:// URL"
                raise ValueError(why if base_url else f"{document} does not say where the API is; give base_url:")
            is_own = urlsplit(base)[:2] == urlsplit(own)[:2]  # keys go to the API's own server only
            self._requests[name] = operation, base, keys if is_own else {}
        self._client = _Client(keys.values(), timeout, retries)
        info = mapping(parsed.get("info"))
        self._description = description or str(info.get("description") or info.get("title") or "").strip()
        self._version = short_hash([text, own, list(self._requests)])

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        operation, base, keys = self._requests[api]
        request = operation.request(base, keys, self._specs[api].wired(arguments))
        return await threads.run(self._client.value, request)


def _fetched(url: str, timeout: float) -> str:
    """A document's text. The keys are not sent: they are for the API, which may be elsewhere."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return str(answer.read(LARGEST).decode())
    except (OSError, ValueError) as error:
        raise EnvironmentFailure(f"{url}: {error}") from None


class _Retry(PatientRetry):
    """Repeats a request where the server is down, busy or failing, and what changes something only if nothing was
    done.
    """

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        is_harmless = method.upper() in self.DEFAULT_ALLOWED_METHODS
        return status_code in (429, 503) or (is_harmless and (status_code == 408 or status_code >= 500))


class _Client:
    """Sends requests, from any thread; it keeps no cookies.

    Args:
        keys: Secrets that are removed from whatever a server says.
        timeout: Seconds for which the server may be silent.
        retries: Attempts after the first one, where the server is down, busy or failing.
    """

    def __init__(self, keys: Iterable[str], timeout: float, retries: int) -> None:
        parts = [part for key in keys for part in (key, key.rpartition(" ")[2])]
        self._secrets = [part for part in parts if len(part) >= SHORTEST_KEY]
        self._timeout = timeout
        retry = _Retry(retries, backoff_factor=0.25, backoff_jitter=0.25, raise_on_status=False)
        adapter = BoundedAdapter(max_retries=retry, pool_maxsize=32, pool_block=True)
        adapter.most_bytes, adapter.seconds = LARGEST, 4 * timeout
        self._session = own_session(requests.Session(), adapter)

    def value(self, request: HttpRequest) -> Any:
        """What the server answers: JSON as data, anything else as text.

        Raises:
            ToolError: The server refuses the call; the message is its own.
            EnvironmentFailure: The server is down or failing after all attempts, refuses the key, or redirects.
        """
        try:
            answer = self._session.request(
                request.method,
                request.url,
                headers=dict(request.headers),
                data=request.data,
                allow_redirects=False,
                timeout=self._timeout,
            )
        except AnswerTooLarge:
            raise ToolError(TOO_LARGE) from None
        except requests.RequestException as error:
            why = self._without_keys(reason_of(error, self._timeout))
            raise EnvironmentFailure(f"the server {why}") from None
        kind = answer.headers.get("Content-Type", "text/plain").partition(";")[0].strip().lower()
        text = self._without_keys(_text(answer))
        _check_status(answer, text)
        return _value_of(kind, text)

    def _without_keys(self, text: str) -> str:
        """What a server says, without the keys that it was sent and may repeat."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]").replace(secret.replace("/", "\\/"), "[key]")
        return text


def _text(answer: requests.Response) -> str:
    is_declared = "charset=" in answer.headers.get("Content-Type", "").lower()
    try:
        return answer.content.decode((is_declared and answer.encoding) or "utf-8", "replace").removeprefix("\ufeff")
    except LookupError:
        return answer.content.decode("utf-8-sig", "replace")


def _check_status(answer: requests.Response, text: str) -> None:
    """Raises what an answer's status means, if it is no success.

    Raises:
        ToolError, EnvironmentFailure: As `_Client.value` says.
    """
    status = answer.status_code
    if status < 300:
        return
    if status < 400:
        target = clip(printable(urljoin(answer.url, answer.headers.get("Location", ""))).rpartition("@")[2])
        raise EnvironmentFailure(f"the server redirects to {target}: give base_url: where the API is")
    message = printable(_message(text))
    answers = f"the server answers {status}{f': {clip(message, 200)}' if message else ''}"
    if status in (408, 429) or status >= 500:
        attempts = len(answer.raw.retries.history) + 1 if answer.raw.retries else 1
        raise EnvironmentFailure(f"{answers} (attempts: {attempts})")
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
    """The value of an answer of a media type; what has an unknown type is text if it can be read as such.

    Raises:
        ToolError: It is no text.
        EnvironmentFailure: It is not what it says it is.
    """
    if is_json(kind) or kind in OLD_JSON:
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise EnvironmentFailure("the server's answer is not the JSON that it says it is") from None
    is_text = kind.startswith("text/") or kind.endswith(("xml", "json", "yaml", "javascript"))
    if not is_text and (kind.startswith(BINARY) or any(mark in text for mark in "\0\ufffd")):
        raise ToolError(f"The answer is of the type {clip(printable(kind))}, which cannot be shown as text.")
    return text
