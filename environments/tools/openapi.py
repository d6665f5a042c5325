"""`openapi:<file or URL>`: the operations of an HTTP API that an OpenAPI 3 document describes, as query APIs."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from r_eval.environments.base import EnvironmentFailure, threads
from r_eval.environments.tools.base import LARGEST, RemoteTool, ToolEnvironment, from_variables, name_list
from r_eval.environments.tools.http_client import Client
from r_eval.environments.tools.openapi_document import address_of, mapping, parse
from r_eval.environments.tools.operations import READING, Keys, Operation, choose_operations, key_place
from r_eval.fingerprints import short_hash


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
        text = _fetched(document, timeout) if source else Path(document).read_text(encoding="utf-8")
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
                raise ValueError(f"{document} does not say where the API is; give base_url:")
            is_own = urlsplit(base)[:2] == urlsplit(own)[:2]  # keys go to the API's own server only
            self._requests[name] = operation, base, keys if is_own else {}
        self._client = Client(keys.values(), timeout, retries)
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
