"""`openapi:<file or URL>`: the operations of an HTTP API that an OpenAPI 3 document describes, as query APIs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from r_eval.environments.base import Environment, EnvironmentFailure, NotFound
from r_eval.environments.schema import ApiSpec
from r_eval.environments.tools import background
from r_eval.environments.tools.connection import from_variables
from r_eval.environments.tools.operations import operations, parse
from r_eval.environments.tools.requests import Client, Request, request_of


class OpenAPI(Environment):
    """An HTTP API.

    Cookies that the server sets are kept for an episode, so that one which keeps sessions has one for every episode.
    """

    def __init__(
        self,
        document: str,
        operations: Sequence[str] | None = None,
        base_url: str | None = None,
        headers_env: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        retries: int = 3,
    ) -> None:
        """Read the document; the API itself is not called.

        Args:
            document: File or URL of the OpenAPI document, JSON or YAML.
            operations: operationIds or `METHOD /path`, or globs of either; by default all.
            base_url: Where the API is, if not where the document says.
            headers_env: Headers of every request, each with the name of the environment variable that holds its value.
            timeout: Seconds of one attempt.
            retries: Attempts after the first, where the server is down, busy (429) or failing (5xx).

        Raises:
            OSError, EnvironmentFailure: The document cannot be read.
            ValueError: It is no OpenAPI 3 document, or an operation cannot be offered.
        """
        headers = from_variables(headers_env or {})
        remote = document.startswith(("http://", "https://"))
        text = _fetched(document, timeout, retries) if remote else Path(document).read_text(encoding="utf-8")
        parsed = parse(text, document)
        self._operations = _chosen(parsed, operations, list(headers))
        base = base_url or _server(parsed, document if remote else "")
        if not base.startswith(("http://", "https://")):
            raise ValueError(f"{document} does not say where the API is; give base_url:")
        self._client = Client(base, headers, timeout, retries)
        self._cookies: dict[str, str] = {}
        info = parsed.get("info") or {}
        self._description = str(info.get("description") or info.get("title") or "").strip()
        said = "\0".join([text, base, *self._operations])
        self._version = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8).hexdigest()

    @property
    def version(self) -> str:
        """Hash of the document, the address and the chosen operations."""
        return self._version

    @property
    def description(self) -> str:
        """What the document says of the API."""
        return self._description

    def specs(self) -> dict[str, ApiSpec]:
        return {name: operation.spec for name, operation in self._operations.items()}

    def open(self) -> Self:
        opened = super().open()
        opened._cookies = {}
        return opened

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        operation = self._operations[api]
        request = request_of(operation, operation.spec.wired(arguments))
        return await self._client.send(operation.method, request, self._cookies)


_chosen = operations


def _fetched(url: str, timeout: float, retries: int) -> str:
    """A document's text. The headers are not sent: they are for the API, which may be elsewhere."""
    parts = urlsplit(url)
    client = Client(f"{parts.scheme}://{parts.netloc}", {}, timeout, retries)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        return background.wait_for(client.fetch("get", Request(path), {}))[1]
    except NotFound as refusal:
        raise EnvironmentFailure(f"{url}: {refusal}") from None


def _server(document: Mapping[str, Any], source: str) -> str:
    """The address of the API: that of the first server, its variables replaced by their defaults."""
    servers = document.get("servers")
    first: Mapping[str, Any] = servers[0] if isinstance(servers, list) and servers else {}
    variables = first.get("variables") or {}

    def default(match: re.Match[str]) -> str:
        return str((variables.get(match.group(1)) or {}).get("default", ""))

    url = re.sub(r"\{([^{}]+)\}", default, str(first.get("url") or "/"))
    return urljoin(source, url) if source else url
