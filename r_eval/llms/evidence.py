"""What a failed answer or an exception says of itself: codes, parameter, sentences, and how long to wait.

Bodies come from anybody: every type may stand anywhere, so the walk is bounded and looks only where providers put what
they say. What a model wrote (`failed_generation`, an echoed `input`) is never among the codes and sentences.
"""

from __future__ import annotations

import dataclasses
import email.utils
import functools
import itertools
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ENVELOPES = (
    {"error", "errors", "Error", "detail", "details", "message", "msg", "Message", "metadata", "raw", "innererror"}
) | {"body", "provider_specific_fields", "violations", "ResponseMetadata"}
"""Keys under which an error has its sentence, or holds another error."""
CODE_KEYS = (
    {"code", "Code", "type", "__type", "status", "status_code", "http_status", "HTTPStatusCode", "reason", "error_code"}
) | {"error_type", "quotaId", "quota_limit"}
LONGEST_SENTENCE, LONGEST_MESSAGE, LONGEST_JSON = 2000, 300, 100_000
VAGUE_STATUSES = frozenset({0, 200, 400, 424, 500, 502})  # a gateway may use them for any error, whose status counts
MOST_PARTS, MOST_ITEMS, MOST_CAUSES = 500, 20, 4

WRAPPER = re.compile(r"[^{]{0,200}(?:error|exception)\b[^{]{0,40}(?=\{)|\s{0,200}(?=[\[{])", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]{0,100}>([^<]{1,200})", re.IGNORECASE)
ECHO = re.compile(r"""(?:['"]?\b(?:input|content|arguments)['"]?[:=] ?|\binput_value=|\bgot )['"{\[]""")
"""Behind it a validator repeats what it was sent."""
VAGUE = re.compile(r"provider returned error|error from provider$|internal server error$|upstream error", re.IGNORECASE)
STATUS = re.compile(r"(?i)(?:^|error code|status code|http|\()\W{0,3}(4[0-2]\d|5[02]\d)\b|(?<=: )([45]\d\d)(?= [A-Z])")
"""A status in the text of an exception."""
AGAIN = re.compile(r"(?:again|retry) (?:in|after):? ((?:\d[\d.]* ?(?:ms|h|m|s)[a-z]*\s?){1,3}|\d[\d.]*)", re.IGNORECASE)
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s|$)", re.IGNORECASE)
SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
EPOCH_TIMES = 1e9  # seconds that are a time since 1970, and no wait


@dataclasses.dataclass
class Evidence:
    """What an answer says."""

    status: int = 0  # of HTTP, or the one that the body gives in its place; 0 where there is none
    codes: set[str] = dataclasses.field(default_factory=set)  # without case and punctuation
    parameter: str = ""  # "<code> at <path>." of what the error is about, as the provider writes them
    sentences: list[str] = dataclasses.field(default_factory=list)  # from the outermost error to the innermost
    generated: str | None = None  # what the model wrote, where the provider hands it back
    headers: dict[str, str] = dataclasses.field(default_factory=dict)  # names in lower case

    @functools.cached_property
    def text(self) -> str:
        """The parameter and the beginnings of all sentences, without what they repeat of the request."""
        said = (ECHO.split(one[:LONGEST_SENTENCE], maxsplit=1)[0] for one in self.sentences)
        return "\n".join([self.parameter, *said])[: 2 * LONGEST_SENTENCE]

    @property
    def message(self) -> str:
        """The sentence that says most, on one line."""
        said = next((one for one in self.sentences if not VAGUE.match(one)), next(iter(self.sentences), ""))
        return one_line(said) or ", ".join(sorted(self.codes)[:3]) or "no explanation"

    def wait(self) -> float | None:
        """Seconds to wait before another attempt, by header, body or wording."""
        if "retry-after-ms" in self.headers:
            return seconds_in(self.headers["retry-after-ms"] + "ms")
        if (asked := seconds_in(self.headers.get("retry-after", ""))) is not None:
            return asked
        if found := AGAIN.search(self.text):
            return seconds_in(found[1])
        kinds = ("requests", "tokens") if self.status == 429 else ()
        spent = [kind for kind in kinds if self.headers.get(f"x-ratelimit-remaining-{kind}") == "0"]
        resets = [seconds_in(self.headers.get(f"x-ratelimit-reset-{kind}", "")) for kind in spent or kinds]
        known = sorted(seconds for seconds in resets if seconds is not None)
        return known[-1 if spent else 0] if known else None

    def add(self, body: Any) -> None:
        """Take in a body, the outermost of its errors first."""
        parts = [body]
        for part in itertools.islice(parts, MOST_PARTS):  # which grows
            if isinstance(part, dict):
                self._add_object(part)
                parts.extend(part[name] for name in part if name in ENVELOPES)
            elif isinstance(part, list):
                parts.extend(part[:MOST_ITEMS])
            elif isinstance(part, str) and (inner := embedded(part)) is not None:
                parts.append(inner)
            elif isinstance(part, str) and part.strip():
                title = TITLE.search(part[:2000])
                self.sentences.append(title[1] if title else part[:LONGEST_JSON])

    def _add_object(self, value: dict[Any, Any]) -> None:
        for name in filter(CODE_KEYS.__contains__, value):
            self.add_code(value[name])
        if isinstance(named := value.get("param"), str) and named:
            self.parameter = f"{one_line(value.get('code')) or 'named'} at {one_line(named)}."
        if isinstance(place := value.get("loc"), list):  # pydantic's report of a fault in the request
            path = ".".join(str(part)[:100] for part in place[:MOST_ITEMS] if isinstance(part, str | int))
            self.sentences.append(f"{path}: {one_line(value.get('msg'))}")
        if "failed_generation" in value:
            written = value["failed_generation"]
            self.generated = written if isinstance(written, str) else "" if written is None else json.dumps(written)
        if "flagged_input" in value:  # OpenRouter's moderation
            self.codes.add("contentfilter")
        if isinstance(delay := value.get("retryDelay"), str):
            self.headers.setdefault("retry-after", delay[:100])
        if isinstance(said := value.get("error parsing tool call"), str):  # Ollama's key for its sentence
            self.sentences.append(f"error parsing tool call: {said[:LONGEST_JSON]}")

    def add_code(self, code: Any) -> None:
        """Take in a code; a status among them stands for a vague one of HTTP."""
        if isinstance(code, bool) or not isinstance(code, int | str):
            return
        text = str(code)[:200].split("#")[-1].split(":")[0]
        self.codes.update(filter(None, (normal(text), normal(text.rpartition(".")[2]))))
        if re.fullmatch("[45][0-9][0-9]", text) and self.status in VAGUE_STATUSES:
            self.status = int(text)


def collect(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Evidence:
    """The evidence in an answer."""
    found = Evidence(status, headers={str(name).lower(): str(text)[:1000] for name, text in (headers or {}).items()})
    found.add_code(found.headers.get("x-amzn-errortype", ""))
    found.add(body)
    return found


def collect_raised(chain: Sequence[BaseException]) -> Evidence:
    """The evidence in an exception and its causes: the first one's whose attributes say something, else its text."""
    for error in chain:
        response = _try(getattr, error, "response")
        names = ("status_code", "http_status", "status", "code", "type", "param")
        said = {name: _try(getattr, error, name) or _try(getattr, response, name) for name in names}
        bodies = ((error, "body"), (error, "details"), (response, "text"))
        body = next(filter(None, (_try(getattr, *place) for place in bodies)), None)
        headers = _try(getattr, response, "headers") or _try(getattr, error, "headers")
        said["body"] = response if isinstance(response, dict) else body  # botocore's is its body
        found = collect(0, said, headers if isinstance(headers, Mapping) else {})
        if found.codes or found.sentences:
            found.add(None if found.sentences else _try(str, error))
            return found
    text = _try(str, chain[0]) or ""
    status = STATUS.search(text[:2000])
    return collect(int(status[1] or status[2]) if status else 0, text)


def _try(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, or None: a property may raise, as that of a response which was not read."""
    try:
        return function(*arguments)
    except Exception:  # noqa: BLE001  any class may come
        return None


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


def one_line(text: object) -> str:
    """A text without control characters and line breaks, bounded; empty for what is none."""
    clean = "".join(c if c.isprintable() else " " for c in (text[:LONGEST_SENTENCE] if isinstance(text, str) else ""))
    return " ".join(clean.split())[:LONGEST_MESSAGE]


def seconds_in(text: str) -> float | None:
    """Seconds in "20", "6m0s", "120ms" or "1.5 seconds", or until a date or a time since 1970.

    Returns:
        None where there is no such thing, or the time has passed.
    """
    parts = DURATION.findall(text[:60]) if text[:1].isdigit() else []
    try:
        seconds = sum(float(number) * SECONDS[unit.lower()] for number, unit in parts)
        if not parts or seconds >= EPOCH_TIMES:
            seconds = (seconds or email.utils.parsedate_to_datetime(text).timestamp()) - time.time()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return seconds if seconds >= 0 else None
