"""Who is to blame: what a provider's way of failing means.

Evidence is read in this order: the codes in the body (and those of a provider's error that a gateway wraps), statuses
that say all by themselves, the parameter that is named, the wording, and last the status. A provider that fails in a
new way is a new entry in `failure_words`, and a new row of the test.

Bodies come from anybody: any value may have any type, so the walk is bounded and looks only where providers put their
errors. What a model wrote (`failed_generation`, an echoed `input`) is never among the codes and sentences.
"""

from __future__ import annotations

import email.utils
import functools
import itertools
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from r_eval.llms import failure_words as table
from r_eval.llms.base import Finish, LLMError

LONG = 3600.0  # seconds that a run does not wait out: such a limit is a quota
ROLLING = 60.0  # seconds below which a limit of a day lets another request through soon
LONGEST_SENTENCE, LONGEST_MESSAGE, LONGEST_JSON = 2000, 300, 100_000
MOST_PARTS, MOST_ITEMS, MOST_CAUSES = 500, 20, 4

WRAPPER = re.compile(r"[^{]{0,200}(?:error|exception)\b[^{]{0,40}(?=\{)|\s{0,200}(?=[\[{])", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]{0,100}>([^<]{1,200})", re.IGNORECASE)
ECHO = re.compile(r"""(?:['"]?\b(?:input|content|arguments)['"]?[:=] ?|\binput_value=|\bgot )['"{\[]""")
"""Behind it a validator repeats what it was sent."""
VAGUE = re.compile(r"provider returned error|error from provider$|internal server error$|upstream error", re.IGNORECASE)
LIMIT = re.compile(r"limit:? (\d{1,12}).{0,60}?requested:? (\d{1,12})", re.IGNORECASE | re.DOTALL)
STATUS = re.compile(r"(?i)(?:^|error code|status code|http|\()\W{0,3}(4[0-2]\d|5[02]\d)\b|(?<=: )([45]\d\d)(?= [A-Z])")
"""A status in the text of an exception."""
AGAIN = re.compile(r"(?:again|retry) (?:in|after):? ((?:\d[\d.]* ?(?:ms|h|m|s)[a-z]*\s?){1,3}|\d[\d.]*)", re.IGNORECASE)
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s|$)", re.IGNORECASE)
SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
HOST = re.compile(r"\w{1,20}://(?:[^/?#]*@)?([^/?#@]*)")  # without what comes before an @: it may be a key


class Evidence:
    """What an answer says about its failure.

    Attributes:
        status: Of HTTP, or the one that the body gives in its place; 0 if there is none.
        codes: Without case and punctuation.
        parameter: "<code> at <path>." of what the error is about, as the provider writes them.
        sentences: From the outermost error to the innermost.
        generated: What the model wrote, if the provider repeats it.
        headers: By their names in lower case.
    """

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.parameter = status, ""
        self.codes: set[str] = set()
        self.sentences: list[str] = []
        self.generated: str | None = None
        self.headers = {str(name).lower(): str(text)[:1000] for name, text in (headers or {}).items()}
        self._add_code(self.headers.get("x-amzn-errortype", ""))
        self.add(body)

    @functools.cached_property
    def text(self) -> str:
        """The parameter and the beginnings of all sentences, without what they repeat of the request."""
        sentences = (ECHO.split(one[:LONGEST_SENTENCE], maxsplit=1)[0] for one in self.sentences)
        return "\n".join([self.parameter, *sentences])[: 2 * LONGEST_SENTENCE]

    def message(self, prefix: str) -> str:
        """The sentence that says most, on one line."""
        sentence = next((one for one in self.sentences if not VAGUE.match(one)), next(iter(self.sentences), ""))
        return one_line(prefix + (one_line(sentence) or ", ".join(sorted(self.codes)[:3]) or "no explanation"))

    def wait(self) -> float | None:
        """Seconds to wait before another attempt, by header, body or wording."""
        if "retry-after-ms" in self.headers:
            return _seconds(self.headers["retry-after-ms"] + "ms")
        seconds = _seconds(self.headers.get("retry-after", ""))
        if seconds is None and (again := AGAIN.search(self.text)):
            seconds = _seconds(again[1])
        return seconds

    def add(self, body: Any) -> None:
        """Take in a body, the outermost of its errors first."""
        parts = [body]
        for part in itertools.islice(parts, MOST_PARTS):  # which grows
            if isinstance(part, dict):
                self._add_object(part)
                parts.extend(part[name] for name in part if name in table.ENVELOPES)
            elif isinstance(part, list):
                parts.extend(part[:MOST_ITEMS])
            elif isinstance(part, str) and (inner := _embedded(part)) is not None:
                parts.append(inner)
            elif isinstance(part, str) and part.strip():
                title = TITLE.search(part[:2000])  # of a page for a browser
                self.sentences.append(title[1] if title else part[:LONGEST_JSON])

    def _add_object(self, value: dict[Any, Any]) -> None:
        for name in filter(table.CODE_KEYS.__contains__, value):
            self._add_code(value[name])
        if named := one_line(value.get("param")):
            self.parameter = f"{one_line(value.get('code')) or 'named'} at {named}."
        if isinstance(place := value.get("loc"), list):  # pydantic's report of a fault in the request
            path = ".".join(str(part)[:100] for part in place[:MOST_ITEMS] if isinstance(part, str | int))
            self.sentences.append(f"{path}: {one_line(value.get('msg'))}")
        if "failed_generation" in value:
            text = value["failed_generation"]
            self.generated = text if isinstance(text, str) else "" if text is None else json.dumps(text)
        if isinstance(delay := value.get("retryDelay"), str):
            self.headers.setdefault("retry-after", delay[:100])

    def _add_code(self, code: Any) -> None:
        """Take in a code; a status among them replaces a vague one of HTTP."""
        if isinstance(code, bool) or not isinstance(code, int | str):
            return
        text = str(code)[:200]
        for piece in re.split("[#:]", text):  # a namespace, or an address that explains it, may be around a code
            self.codes.update(filter(None, map(table.normal, (piece, piece.rpartition(".")[2]))))
        if re.fullmatch("[45][0-9][0-9]", text) and self.status in table.VAGUE_STATUSES:
            self.status = int(text)

    def failure(self, prefix: str) -> LLMError:
        """What it means."""
        cause, parameter = self._decide()
        wait = self.wait() if cause in LLMError.RETRIED else None
        failure = LLMError(cause, self.message(prefix), wait=wait, parameter=parameter)
        if cause == "tool_call":
            text = "\n".join(self.sentences)
            call, mark, _ = text.partition("raw='")[2].rpartition("', err=")  # Ollama quotes it, and so does llama.cpp
            quoted = call if mark else text.partition("parse input at pos ")[2].partition(": ")[2]
            failure.text = (quoted if self.generated is None else self.generated)[:LONGEST_JSON]
        return failure

    def _decide(self) -> tuple[str, str]:
        """The cause, and the parameter if that is it."""
        by_code = next((cause for cause, codes in table.CODES.items() if self.codes & codes), None)
        if self.generated is not None and by_code in (None, "request"):
            return "tool_call", ""
        if by_code == "rate_limit" or (by_code is None and self.status == 429):
            return self._limit(), ""
        if by_code is not None:
            return by_code, ""
        rows = list(table.WORDS.items()) if self.status in table.FAULTS else []
        if self.codes & table.REFUSAL_CODES:  # the parameter is what is refused, whatever else the sentence mentions
            rows.sort(key=lambda row: not row[0].startswith("parameter"))
        for row, words in rows:
            cause, _, name = row.partition(" ")
            if (match := words.search(self.text)) and (self.status < 500 or cause not in LLMError.FATAL):
                refused = name or _key(next(filter(None, match.groups()), ""))
                if cause != "parameter" or refused not in table.NEVER_REFUSED:
                    return cause, refused
        if self.status == 503 and table.WORDS["rate_limit"].search(self.text):
            return "rate_limit", ""
        if self.status == 403 and table.ACCOUNT.search(" ".join((*self.codes, self.text))):
            return "key", ""  # any other is a firewall's or a proxy's, which may have blocked this one prompt
        is_request = self.status in range(1, 500) or (not self.status and self.codes & table.REQUEST_CODES)
        return table.STATUSES.get(self.status, "request" if is_request else "server"), ""

    def _limit(self) -> str:
        """Which limit a server keeps to: one that passes, one of a day, or one that the request alone exceeds."""
        text, wait = self.text, self.wait()
        sizes = LIMIT.search(text)
        if self.status == 413 or (sizes and "tokens per min" in text and int(sizes[2]) > int(sizes[1])):
            return "context"
        if any("perday" in code for code in self.codes) or re.search(r"\blimit: 0\b", text) or (wait or 0) > LONG:
            return "quota"
        if table.PER_DAY.search(text):
            return "quota" if wait is None or wait > ROLLING else "rate_limit"
        return "quota" if "resourceexhausted" not in self.codes and table.WORDS["quota"].search(text) else "rate_limit"


def classify(status: int, body: Any, headers: Mapping[str, str] | None = None) -> LLMError:
    """What an answer means that is no reply.

    Args:
        status: Of HTTP; 0 if there is none.
        body: Parsed JSON of any type, or text.
    """
    evidence = Evidence(status, body, headers)
    if 300 <= status < 400:  # nothing is sent where no grid says so, a key least of all
        host = HOST.match(evidence.headers.get("location", ""))
        where = (host and one_line(host[1])) or "another path"
        why = f"it redirects to {where}; if that is right, name that address as base_url"
        return LLMError("request", f"HTTP {status}: {why}")
    return evidence.failure(f"HTTP {status}: " if status else "")


def error_in(data: Any) -> LLMError | None:
    """The error inside an answer that calls itself a success; None if there is none.

    Args:
        data: Parsed JSON of any type; a list is an answer in pieces, of which any may be an error.
    """
    for answer in data[:MOST_ITEMS] if isinstance(data, list) else [data]:
        if isinstance(answer, dict) and (body := _error_body(answer)) is not None:
            return Evidence(0, body).failure("HTTP 200 with an error: ")
    return None


def finish(reason: object) -> Finish:
    """Why generation ended, by any provider's word for it."""
    return next((table.FINISHES[word] for word in _words(reason) if word in table.FINISHES), "unknown")


def of_exception(error: BaseException) -> LLMError:
    """What an exception of an SDK or an HTTP client means: its attributes count most, then its text, then its class."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and len(chain) < MOST_CAUSES:
        chain.append(cause)
    evidence = next((evidence for one in chain if (evidence := _attributes(one)).codes or evidence.sentences), None)
    if evidence is None:
        text = _try(str, error) or ""
        status = STATUS.search(text[:2000])
        evidence = Evidence(int(status[1] or status[2]) if status else 0, text)
    failure = evidence.failure(f"HTTP {evidence.status}: " if evidence.status else f"{type(error).__name__}: ")
    classes = " ".join(kind.__name__ for one in chain for kind in type(one).__mro__)
    by_class = next((cause for cause, names in table.CLASSES.items() if re.search(names, classes)), None)
    if by_class and not evidence.status and (failure.cause in ("request", "server") or by_class == "reply"):
        failure.cause = by_class
    return failure


def _attributes(error: BaseException) -> Evidence:
    """What the attributes of an exception say, and its text where they are mere codes."""
    response = _try(getattr, error, "response")
    names = ("status_code", "http_status", "status", "code", "type", "param")
    attributes = {name: _try(getattr, error, name) or _try(getattr, response, name) for name in names}
    bodies = ((error, "body"), (error, "details"), (response, "text"))
    body = next(filter(None, (_try(getattr, *place) for place in bodies)), None)
    headers = _try(getattr, response, "headers") or _try(getattr, error, "headers")
    attributes["body"] = response if isinstance(response, dict) else body  # botocore's is its body
    evidence = Evidence(0, attributes, headers if isinstance(headers, Mapping) else {})
    if evidence.codes and not evidence.sentences:
        evidence.add(_try(str, error))
    return evidence


def _try(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, or None: a property may raise, as that of a response which was not read."""
    try:
        return function(*arguments)
    except Exception:  # noqa: BLE001  any class may come
        return None


def _error_body(data: Mapping[str, Any]) -> Any:
    """The part of an answer that holds an error, with a code where only its place or its ending tells of one."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    ending = (*_words(choice.get("finish_reason")), *_words(choice.get("native_finish_reason")))
    base, prompt = data.get("base_resp"), data.get("promptFeedback")
    if _tells(data.get("error")):
        return {key: value for key, value in data.items() if key != "choices"}
    if not table.MISCALLED.isdisjoint(ending):
        text = message.get("content") if isinstance(message, dict) else None
        return {"code": ending[-1], "message": " ".join(ending), "failed_generation": text}
    if _tells(choice.get("error")):
        return {"error": choice["error"]}
    if not table.BROKEN_OFF.isdisjoint(ending):
        return {"code": "insufficient_system_resource", "message": f"finish_reason is {' '.join(ending)}"}
    if not isinstance(message, dict) and finish(choice.get("finish_reason")) == "content_filter":
        return {"code": "content_filter", "message": f"finish_reason is {' '.join(ending)}"}
    if isinstance(base, dict) and base.get("status_code") not in (0, None):
        return {"code": f"minimax{base['status_code']}", "message": base.get("status_msg")}
    if isinstance(prompt, dict) and prompt.get("blockReason"):
        return {"code": "SAFETY", "message": f"blockReason {prompt['blockReason']}"}
    if choice or "output" in data:
        return None
    return data if _tells(data.get("detail")) or isinstance(data.get("message") or data.get("msg"), str) else None


def _tells(error: Any) -> bool:
    """Whether the value of a key for errors holds one."""
    return any(map(bool, error.values())) if isinstance(error, dict) else bool(error)


def _words(reason: object) -> list[str]:
    """The words in a reason to end, if it is a text."""
    return re.findall(r"\w+", reason[:200].lower().replace("-", "_")) if isinstance(reason, str) else []


def _key(path: str) -> str:
    """The last name of a path, as the request's body spells it."""
    name = next((part for part in reversed(re.split(r"[.\[\]]+", path)) if part and not part.isdigit()), "")
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    snake = table.ALIASES.get(snake, snake)
    return snake if snake in table.PARAMETERS else name[:100]


def _embedded(text: str) -> Any:
    """The JSON that a text is, or that follows the name of an error in it; None if there is none."""
    start = WRAPPER.match(text)
    if start is None or len(text) > LONGEST_JSON or "pars" in start[0].lower():  # what could not be parsed is a model's
        return None
    try:
        value = json.JSONDecoder().raw_decode(text, start.end())[0]
    except (ValueError, RecursionError):
        return None
    return value or None


def one_line(text: object) -> str:
    """A text without control characters and line breaks, bounded; empty for what is none."""
    clean = "".join(c if c.isprintable() else " " for c in (text[:LONGEST_SENTENCE] if isinstance(text, str) else ""))
    return " ".join(clean.split())[:LONGEST_MESSAGE]


def _seconds(text: str) -> float | None:
    """Seconds in "20", "6m0s", "120ms" or "1.5 seconds", or until a date.

    Returns:
        None if there is no such thing, or the time has passed.
    """
    parts = DURATION.findall(text[:60]) if text[:1].isdigit() else []
    try:
        seconds = sum(float(number) * SECONDS[unit.lower()] for number, unit in parts)
        if not parts:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return seconds if seconds >= 0 else None
