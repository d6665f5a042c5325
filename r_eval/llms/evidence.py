"""What a failed answer says of itself: codes, the parameter it names, its sentences, and how long to wait.

Bodies come from anybody: every type may stand anywhere, so the walk is bounded and looks only where providers put what
they say. What a model wrote (`failed_generation`, an echoed `input`) is never among the codes and sentences.
"""

from __future__ import annotations

import dataclasses
import email.utils
import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

ENVELOPES = frozenset(
    {"error", "errors", "detail", "details", "message", "msg", "metadata", "raw", "innererror", "inner_error", "body"}
    | {"provider_specific_fields", "violations", "Error"}
)
"""Keys under which an error holds another, or says more."""

CODE_KEYS = frozenset(
    {"code", "type", "status", "reason", "error_code", "error_type", "__type", "Code", "blockReason", "status_code"}
    | {"quotaId", "quota_limit"}
)
TEXT_KEYS = frozenset({"message", "msg", "detail", "details", "description", "error", "raw", "errorMessage", "Message"})
LONGEST_SENTENCE, LONGEST_MESSAGE, LONGEST_JSON, LONGEST_WAIT = 2000, 300, 100_000, 600.0
VAGUE_STATUSES = frozenset({0, 200, 400, 424, 500, 502})
"""Statuses that give way to one in the body: a gateway may use them for any error."""

EPOCH_TIMES = 1e9  # seconds that are a time since 1970, and no wait
DEEPEST, MOST_NODES, MOST_ITEMS = 8, 500, 20

WRAPPER = re.compile(r"[^{]{0,200}(?:error|exception)\b[^{]{0,40}(?=\{)|\s*(?=[\[{])", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]*>([^<]{1,200})", re.IGNORECASE)
ECHO = re.compile(r"'input': |input_value=")  # behind it a validator repeats what it was sent
VAGUE = re.compile(r"provider returned error|error from provider$|internal server error$|upstream error", re.IGNORECASE)
AGAIN = re.compile(r"(?:again|retry) (?:in|after):? ((?:\d[\d.]* ?(?:ms|h|m|s)[a-z]*\s?){1,3}|\d[\d.]*)", re.IGNORECASE)
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s|$)", re.IGNORECASE)
SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


@dataclasses.dataclass(slots=True)
class Evidence:
    """What an answer says.

    Attributes:
        status: Of HTTP, or the one that the body gives in its place; 0 where there is none.
        codes: Without case and punctuation.
        parameter: Path of what the error is about, as the provider writes it.
        places: Kind and place of each fault in the request, as pydantic reports them.
        sentences: From the outermost error to the innermost.
        generated: What the model wrote, where the provider hands it back.
    """

    status: int = 0
    codes: set[str] = dataclasses.field(default_factory=set)
    parameter: str = ""
    places: list[tuple[str, list[str]]] = dataclasses.field(default_factory=list)
    sentences: list[str] = dataclasses.field(default_factory=list)
    generated: str | None = None
    retry_delay: float | None = None
    is_moderated: bool = False
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    _nodes: int = 0

    @property
    def text(self) -> str:
        """The beginnings of all sentences."""
        return "\n".join(ECHO.split(one[:LONGEST_SENTENCE], maxsplit=1)[0] for one in self.sentences)[
            : 2 * LONGEST_SENTENCE
        ]

    @property
    def message(self) -> str:
        """The sentence that says most, on one line."""
        said = next((one for one in self.sentences if not VAGUE.match(one)), next(iter(self.sentences), ""))
        return one_line(said) or ", ".join(sorted(self.codes)[:3]) or "no explanation"

    def wait(self) -> float | None:
        """Seconds to wait before another attempt, by header, body or wording."""
        if (after := _number(self.headers.get("retry-after-ms", ""))) is not None:
            return _bounded(after / 1000)
        if (header := self.headers.get("retry-after", "")) and (asked := _retry_after(header)) is not None:
            return asked
        if self.retry_delay is not None:
            return self.retry_delay
        if found := AGAIN.search(self.text):
            return duration(found[1])
        if self.status != 429:
            return None
        resets = {kind: _reset(self.headers.get(f"x-ratelimit-reset-{kind}", "")) for kind in ("requests", "tokens")}
        known = {kind: seconds for kind, seconds in resets.items() if seconds is not None}
        spent = [s for kind, s in known.items() if _number(self.headers.get(f"x-ratelimit-remaining-{kind}", "")) == 0]
        return max(spent) if spent else min(known.values(), default=None)

    def add(self, value: Any, key: str = "", depth: int = 0) -> None:
        """Take in a part of a body.

        Args:
            key: Under which the part stands.
        """
        self._nodes += 1
        if depth > DEEPEST or self._nodes > MOST_NODES:
            return
        if isinstance(value, dict):
            self._add_object(value, depth)
        elif isinstance(value, list):
            for item in value[:MOST_ITEMS]:
                self.add(item, key, depth + 1)
        elif isinstance(value, str) and value.strip():
            inner = embedded(value) if depth < DEEPEST else None
            if inner is not None:
                self.add(inner, key, depth + 1)
            else:
                said = title[1] if (title := TITLE.search(value[:2000])) else value
                self.sentences.append(said[:LONGEST_JSON])

    def _add_object(self, value: dict[Any, Any], depth: int) -> None:
        for name in CODE_KEYS & value.keys():
            self._add_code(value[name])
        if isinstance(named := value.get("param"), str) and named:
            self.parameter = named
        if isinstance(place := value.get("loc"), list | tuple):
            self.places.append((normal(str(value.get("type"))[:60]), [str(part)[:100] for part in place[:MOST_ITEMS]]))
        if "failed_generation" in value:
            written = value["failed_generation"]
            self.generated = written if isinstance(written, str) else "" if written is None else json.dumps(written)
        self.is_moderated |= "flagged_input" in value
        if isinstance(delay := value.get("retryDelay"), str):
            self.retry_delay = duration(delay)
        for name in value:
            if name == "error parsing tool call":  # Ollama's key for its sentence
                self.sentences.append(f"{name}: {str(value[name])[:LONGEST_JSON]}")
            elif name in ENVELOPES or (name in TEXT_KEYS and isinstance(value[name], str)):
                self.add(value[name], name, depth + 1)

    def _add_code(self, code: Any) -> None:
        if isinstance(code, bool) or not isinstance(code, int | str):
            return
        text = str(code)[:200].split("#")[-1].split(":")[0]
        self.codes.update((normal(text), normal(text.rpartition(".")[2])))
        if (
            text.isascii()
            and text.isdigit()
            and 400 <= int(text[:9]) < 600
            and self.status in (0, 200, 400, 424, 500, 502)
        ):
            self.status = int(text)


def collect(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Evidence:
    """The evidence in an answer."""
    found = Evidence(status)
    for name, value in dict(headers or {}).items():
        found.headers[str(name).lower()] = str(value)[:1000]
    found._add_code(found.headers.get("x-amzn-errortype", ""))
    found.add(body)
    found.codes.discard("")
    return found


def embedded(text: str) -> Any:
    """The JSON that a text is, or that stands in it behind the name of an error; None where there is none."""
    start = WRAPPER.match(text)
    if start is None or len(text) > LONGEST_JSON or "pars" in start[0].lower():  # what could not be parsed is a model's
        return None
    try:
        value = json.JSONDecoder().raw_decode(text, start.end())[0]
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and value else None


def normal(code: str) -> str:
    """A code without case and punctuation."""
    return re.sub(r"[\W_]+", "", code).lower()


def one_line(text: str) -> str:
    """A text without control characters and line breaks, bounded."""
    clean = "".join(c if c.isprintable() else " " for c in text[:LONGEST_SENTENCE])
    return " ".join(clean.split())[:LONGEST_MESSAGE]


def duration(text: str) -> float | None:
    """Seconds in "6m0s", "120ms", "37s", "1.5 seconds" or "20"; None where there is no such thing."""
    parts = DURATION.findall(text[:60]) if text[:1].isdigit() else []
    return _bounded(sum(float(number) * SECONDS[unit.lower()] for number, unit in parts)) if parts else None


def _retry_after(header: str) -> float | None:
    if (seconds := _number(header)) is not None:
        return _bounded(seconds)
    try:
        return _bounded(max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time()))
    except (ValueError, TypeError, OverflowError, OSError):
        return duration(header)


def _reset(header: str) -> float | None:
    """Seconds until a limit is reset, whose header holds a duration or a time since 1970."""
    at = _number(header)
    return duration(header) if at is None or at < EPOCH_TIMES else _bounded(at - time.time())


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _bounded(seconds: float) -> float | None:
    return min(seconds, LONGEST_WAIT) if math.isfinite(seconds) and seconds >= 0 else None


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that it was raised from, at most four."""
    found: BaseException | None = error
    for _ in range(4):
        if found is None:
            return
        yield found
        found = found.__cause__


def text_of(error: BaseException) -> str:
    """What an exception says, even one that cannot say it."""
    try:
        return str(error)[:LONGEST_JSON]
    except Exception:  # noqa: BLE001 (any class may come)
        return ""


def attributes_of(error: BaseException) -> tuple[int, Any, Mapping[str, str]]:
    """Status, body and headers that an exception carries: 0, None and {} for what it lacks."""
    response = _attribute(error, "response")
    if isinstance(response, dict):  # botocore
        about = response.get("ResponseMetadata")
        about = about if isinstance(about, dict) else {}
        headers = about.get("HTTPHeaders")
        return _status(about.get("HTTPStatusCode")), response, headers if isinstance(headers, dict) else {}
    holders = (error, response)
    names = ("status_code", "http_status", "status", "code")
    status = next((n for one in holders for name in names if (n := _status(_attribute(one, name)))), 0)
    bodies = [_attribute(error, name) for name in ("body", "details", "error")]
    body = next((one for one in bodies if isinstance(one, dict | list | str) and one), None)
    if body is None and isinstance(text := _attribute(response, "text"), str):
        body = text or None
    codes = {name: code for name in ("code", "type", "param") if isinstance(code := _attribute(error, name), str)}
    headers = next((h for one in (response, error) if isinstance(h := _attribute(one, "headers"), Mapping)), {})
    return status, {**codes, "body": body} if codes else body, headers


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 (a property may raise, as that of a response which was not read)
        return None


def _status(value: Any) -> int:
    value = getattr(value, "value", value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 300 <= value < 600 else 0
