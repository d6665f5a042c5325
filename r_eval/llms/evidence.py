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

ENVELOPES = (
    {"error", "errors", "Error", "detail", "details", "message", "msg", "Message", "metadata", "raw", "innererror"}
) | {"body", "provider_specific_fields", "violations"}
"""Keys under which an error has its sentence, or holds another error."""
CODE_KEYS = (
    {"code", "Code", "type", "__type", "status", "status_code", "reason", "error_code", "error_type", "quotaId"}
) | {"quota_limit"}
LONGEST_SENTENCE, LONGEST_MESSAGE, LONGEST_JSON = 2000, 300, 100_000
VAGUE_STATUSES = frozenset({0, 200, 400, 424, 500, 502})
"""Statuses that give way to one in the body: a gateway may use them for any error."""
DEEPEST, MOST_NODES, MOST_ITEMS = 8, 500, 20

WRAPPER = re.compile(r"[^{]{0,200}(?:error|exception)\b[^{]{0,40}(?=\{)|\s*(?=[\[{])", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]{0,100}>([^<]{1,200})", re.IGNORECASE)
ECHO = re.compile(r"""(?:['"]?\b(?:input|content|arguments)['"]?[:=] ?|\binput_value=|\bgot )['"{\[]""")
"""Behind it a validator repeats what it was sent."""
VAGUE = re.compile(r"provider returned error|error from provider$|internal server error$|upstream error", re.IGNORECASE)
AGAIN = re.compile(r"(?:again|retry) (?:in|after):? ((?:\d[\d.]* ?(?:ms|h|m|s)[a-z]*\s?){1,3}|\d[\d.]*)", re.IGNORECASE)
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s|$)", re.IGNORECASE)
SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
EPOCH_TIMES = 1e9  # seconds that are a time since 1970, and no wait
DAY = 86_400.0


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
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    _nodes: int = 0

    @property
    def text(self) -> str:
        """The beginnings of all sentences, without what they repeat of the request."""
        said = (ECHO.split(one[:LONGEST_SENTENCE], maxsplit=1)[0] for one in self.sentences)
        return "\n".join(said)[: 2 * LONGEST_SENTENCE]

    @property
    def message(self) -> str:
        """The sentence that says most, on one line."""
        said = next((one for one in self.sentences if not VAGUE.match(one)), next(iter(self.sentences), ""))
        return one_line(said) or ", ".join(sorted(self.codes)[:3]) or "no explanation"

    def wait(self) -> float | None:
        """Seconds to wait before another attempt, by header, body or wording; at most a day."""
        if "retry-after-ms" in self.headers:
            asked = seconds_in(self.headers["retry-after-ms"])
            return None if asked is None else asked / 1000
        if (asked := seconds_in(self.headers.get("retry-after", ""))) is not None:
            return asked
        if found := AGAIN.search(self.text):
            return seconds_in(found[1])
        if self.status != 429:
            return None
        resets = {
            kind: seconds_in(self.headers.get(f"x-ratelimit-reset-{kind}", "")) for kind in ("requests", "tokens")
        }
        known = {kind: seconds for kind, seconds in resets.items() if seconds is not None}
        spent = [known[kind] for kind in known if self.headers.get(f"x-ratelimit-remaining-{kind}") == "0"]
        return max(spent) if spent else min(known.values(), default=None)

    def add(self, value: Any, depth: int = 0) -> None:
        """Take in a body or a part of one."""
        self._nodes += 1
        if depth > DEEPEST or self._nodes > MOST_NODES:
            return
        if isinstance(value, dict):
            self._add_object(value, depth)
        elif isinstance(value, list):
            for item in value[:MOST_ITEMS]:
                self.add(item, depth + 1)
        elif isinstance(value, str) and value.strip():
            inner = embedded(value) if depth < DEEPEST else None
            if inner is not None:
                self.add(inner, depth + 1)
            else:
                said = title[1] if (title := TITLE.search(value[:2000])) else value
                self.sentences.append(said[:LONGEST_JSON])

    def _add_object(self, value: dict[Any, Any], depth: int) -> None:
        for name in CODE_KEYS & value.keys():
            self.add_code(value[name])
        if isinstance(named := value.get("param"), str) and named:
            self.parameter = named
        if isinstance(place := value.get("loc"), list | tuple):
            self.places.append((normal(str(value.get("type"))[:60]), [str(part)[:100] for part in place[:MOST_ITEMS]]))
        if "failed_generation" in value:
            written = value["failed_generation"]
            self.generated = written if isinstance(written, str) else "" if written is None else json.dumps(written)
        if "flagged_input" in value:  # OpenRouter's moderation
            self.codes.add("contentfilter")
        if isinstance(delay := value.get("retryDelay"), str):
            self.headers.setdefault("retry-after", delay[:100])
        for name in value:
            if name == "error parsing tool call":  # Ollama's key for its sentence
                self.sentences.append(f"{name}: {str(value[name])[:LONGEST_JSON]}")
            elif name in ENVELOPES:
                self.add(value[name], depth + 1)

    def add_code(self, code: Any) -> None:
        """Take in a code; a status among them stands for a vague one of HTTP."""
        if isinstance(code, bool) or not isinstance(code, int | str):
            return
        text = str(code)[:200].split("#")[-1].split(":")[0]
        self.codes.update((normal(text), normal(text.rpartition(".")[2])))
        if re.fullmatch("[45][0-9][0-9]", text) and self.status in VAGUE_STATUSES:
            self.status = int(text)


def collect(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Evidence:
    """The evidence in an answer."""
    found = Evidence(status)
    for name, value in (headers or {}).items():
        found.headers[str(name).lower()] = str(value)[:1000]
    found.add_code(found.headers.get("x-amzn-errortype", ""))
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


def seconds_in(text: str) -> float | None:
    """Seconds in "20", "6m0s", "120ms" or "1.5 seconds", or until a date or a time since 1970; at most a day.

    Returns:
        None where there is no such thing, or the time has passed.
    """
    try:
        seconds = float(text)
        seconds -= time.time() if seconds >= EPOCH_TIMES and math.isfinite(seconds) else 0.0
    except ValueError:
        parts = DURATION.findall(text[:60]) if text[:1].isdigit() else []
        try:
            seconds = sum(float(number) * SECONDS[unit.lower()] for number, unit in parts) if parts else _until(text)
        except (ValueError, TypeError, OverflowError, OSError):
            return None
    return min(seconds, DAY) if math.isfinite(seconds) and seconds >= 0 else None


def _until(date: str) -> float:
    return email.utils.parsedate_to_datetime(date).timestamp() - time.time()


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
    names = ("status_code", "http_status", "status", "code")
    status = next((n for one in (error, response) for name in names if (n := _status(_attribute(one, name)))), 0)
    bodies = (_attribute(*holder) for holder in ((error, "body"), (error, "details"), (response, "text")))
    body = next((one for one in bodies if isinstance(one, dict | list | str) and one), None)
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
