"""`openapi:<file or URL>`: the operations of an HTTP API that an OpenAPI 3 document describes, as query APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from r_eval.environments.base import EnvironmentFailure, ToolError
from r_eval.environments.tools import background
from r_eval.environments.tools.base import Offer, ToolEnvironment, from_variables, hash_of, name_list
from r_eval.environments.tools.operations import Keys, address_of, parse
from r_eval.environments.tools.operations import operations as operations_of
from r_eval.environments.tools.placement import Request, request_of
from r_eval.environments.tools.requests import Client


class OpenAPI(ToolEnvironment):
    """An HTTP API.

    Cookies that the server sets are kept for an episode, so that one which keeps sessions has one for every episode.
    """

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
            timeout: Seconds of one attempt.
            retries: Attempts after the first, where the server is down, busy (429) or failing (5xx).
            description: What the domain is, as a model is told, in place of the document's description.

        Raises:
            OSError, EnvironmentFailure: The document cannot be read.
            ValueError: It is no OpenAPI 3 document, or has no operation that can be offered.
        """
        headers, query = from_variables(headers_env or {}), from_variables(query_env or {})
        remote = document.startswith(("http://", "https://"))
        text = _fetched(document, timeout, retries) if remote else Path(document).read_text(encoding="utf-8")
        parsed = parse(text, document)
        offer = Offer(f"openapi:{document}")
        keys = Keys(frozenset(name.lower() for name in headers), frozenset(query))
        source = document if remote else ""
        self._operations = operations_of(parsed, name_list(operations), base_url, source, keys, offer)
        offer.close()
        self._specs, self.read_only = offer.specs, frozenset(offer.read_only)
        for operation in self._operations.values():
            if not operation.base.startswith(("http://", "https://")):
                raise ValueError(f"{document} does not say where the API is; give base_url:")
        base = base_url or address_of([parsed], source)
        self._client = Client(base, headers, query, timeout, retries)
        self._cookies: dict[str, str] = {}
        info = parsed.get("info") or {}
        self._description = description or str(info.get("description") or info.get("title") or "").strip()
        self._version = hash_of(text, base, list(self._operations))

    def open(self) -> Self:
        opened = super().open()
        opened._cookies = {}
        return opened

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        operation = self._operations[api]
        request = request_of(operation, operation.spec.wired(arguments))
        return await self._client.send(operation.method, request, self._cookies)


def _fetched(url: str, timeout: float, retries: int) -> str:
    """A document's text. The headers are not sent: they are for the API, which may be elsewhere."""
    parts = urlsplit(url)
    client = Client(f"{parts.scheme}://{parts.netloc}", {}, {}, timeout, retries)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        return background.wait_for(client.fetch("get", Request(client.base, path), {}))[1]
    except ToolError as refusal:
        raise EnvironmentFailure(f"{url}: {refusal}") from None
