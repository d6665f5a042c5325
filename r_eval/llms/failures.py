"""Who is to blame: what a provider's way of failing means.

Evidence is read in this order: the codes in the body (and those of a provider's error that a gateway wraps), statuses
that say all by themselves, the parameter that is named, the wording, and last the status. A provider that fails in a
new way is a new entry in `failure_words`, and a new row of the test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from r_eval.llms import evidence
from r_eval.llms import failure_words as table
from r_eval.llms.base import Finish, LLMError
from r_eval.llms.evidence import Evidence

LONGEST_WAIT = 600.0  # seconds; nobody waits longer for one reply
LONG = 3600.0  # seconds that a run does not wait out: such a limit is a quota
ROLLING = 60.0  # seconds below which a limit of a day lets another request through soon
LONGEST_TEXT = 100_000
MOST_ANSWERS = 20

PER_DAY = re.compile(r"per[ _-]?day|\b[RT]PD\b", re.IGNORECASE)
TOO_LARGE = re.compile(
    r"limit:? (\d{1,12}).{0,60}?requested:? (\d{1,12})|(request too large)", re.IGNORECASE | re.DOTALL
)
STATUS = re.compile(
    r"(?:^|error code|status code|http|\()\W{0,3}(4[0-2]\d|5[02]\d)\b|(?<=: )([45]\d\d)(?= [A-Z])", re.IGNORECASE
)
"""A status in the text of an exception."""

_CODES = [(cause, {evidence.normal(code) for code in codes.split()}) for cause, codes in table.CODES.items()]
_FINISHES: dict[str, Finish] = {reason: name for name, reasons in table.FINISHES.items() for reason in reasons.split()}


class ProviderError(LLMError):
    """A failure as its provider tells it.

    Attributes:
        text: For the cause "tool_call": what the model wrote, where the provider repeats it.
    """

    text: str = ""


def classify(status: int, body: Any, headers: Mapping[str, str] | None = None) -> ProviderError:
    """What an answer means that is no reply.

    Args:
        status: Of HTTP; 0 where there is none.
        body: Parsed JSON of any type, or text.
    """
    found = evidence.collect(status, body, headers)
    if 300 <= status < 400:  # nothing is sent where the grid has not said so, a key least of all
        where = evidence.one_line(_host(found.headers.get("location", ""))) or "another path"
        why = f"it redirects to {where}; if that is right, name that address as base_url"
        return ProviderError("request", f"HTTP {status}: {why}")
    return _failure(found, f"HTTP {status}: " if status else "")


def error_in(data: Any) -> ProviderError | None:
    """The error inside an answer that calls itself a success; None where there is none.

    Args:
        data: Parsed JSON of any type; a list is an answer in pieces, of which any may be an error.
    """
    answers = data[:MOST_ANSWERS] if isinstance(data, list) else [data]
    bodies = (_error_body(answer) for answer in answers if isinstance(answer, dict))
    body = next((body for body in bodies if body is not None), None)
    return None if body is None else _failure(evidence.collect(0, body), "HTTP 200 with an error: ")


def finish(reason: object) -> Finish:
    """Why generation ended, by any provider's word for it."""
    words = re.split(r"[^\w-]+", reason[:200].lower()) if isinstance(reason, str) else []
    return next((_FINISHES[name] for word in words if (name := word.replace("-", "_")) in _FINISHES), "unknown")


def of_exception(error: BaseException) -> ProviderError:
    """What an exception of an SDK or an HTTP client means: its attributes count most, then its text, then its class."""
    chain = list(evidence.causes_of(error))
    for one in chain:
        status, body, headers = evidence.attributes_of(one)
        if status or body:
            found = evidence.collect(status, body or evidence.text_of(one), headers)
            break
    else:
        text = evidence.text_of(error)
        status = int(said[1] or said[2]) if (said := STATUS.search(text[:2000])) else 0
        found = evidence.collect(status, text)
    failure = _failure(found, f"HTTP {status}: " if status else f"{type(error).__name__}: ")
    names = [name.__name__ for one in chain for name in type(one).__mro__]
    by_class = next((cause for cause, words in table.CLASSES if any(re.search(words, name) for name in names)), None)
    if by_class and not found.status and (failure.cause in ("request", "server") or by_class == "reply"):
        failure.cause = by_class
    return failure


def _error_body(data: Mapping[str, Any]) -> Any:
    """The part of an answer that holds an error."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    endings = [
        end[:200] for key in ("finish_reason", "native_finish_reason") if isinstance(end := choice.get(key), str)
    ]
    ending = " ".join(endings).lower()
    base, prompt = data.get("base_resp"), data.get("promptFeedback")
    if _tells(data.get("error")):
        return {key: value for key, value in data.items() if key != "choices"}
    if "malformed_function_call" in ending or "unexpected_tool_call" in ending:
        written = message.get("content") if isinstance(message, dict) else None
        return {"code": ending.split()[-1], "message": ending, "failed_generation": written}
    if _tells(choice.get("error")):
        return {"error": choice["error"]}
    if table.BROKEN_OFF.intersection(ending.split()):
        return {"code": "insufficient_system_resource", "message": f"finish_reason is {ending}"}
    if ending and not isinstance(message, dict) and finish(ending) == "content_filter":
        return {"code": "content_filter", "message": f"finish_reason is {ending}"}
    if isinstance(base, dict) and base.get("status_code") not in (0, None):
        return {"code": f"minimax{base['status_code']}", "message": base.get("status_msg")}
    if isinstance(prompt, dict) and prompt.get("blockReason"):
        return {"code": "SAFETY", "message": f"blockReason {prompt['blockReason']}"}
    if choice or "output" in data or "candidates" in data:
        return None
    is_error = data.get("object") == "error" or data.get("type") == "error" or _tells(data.get("detail"))
    return data if is_error or isinstance(data.get("message") or data.get("msg"), str) else None


def _tells(error: Any) -> bool:
    """Whether the value of a key for errors holds one."""
    return any(map(bool, error.values())) if isinstance(error, dict) else bool(error)


def _failure(found: Evidence, prefix: str) -> ProviderError:
    cause, parameter = _decide(found)
    wait = found.wait() if cause in LLMError.RETRIED else None
    wait = None if wait is None else min(wait, LONGEST_WAIT)
    failure = ProviderError(cause, evidence.one_line(prefix + found.message), wait=wait, parameter=parameter)
    if cause == "tool_call":
        failure.text = _model_text(found)[:LONGEST_TEXT]
    return failure


def _model_text(found: Evidence) -> str:
    """What the model wrote, where the provider hands it back or quotes it in its sentence."""
    if found.generated is not None:
        return found.generated
    said = "\n".join(found.sentences)
    quoted = said.partition("raw='")[2]  # Ollama
    if "', err=" in quoted:
        return quoted.rpartition("', err=")[0]
    rest = said.partition("parse input at pos ")[2]  # llama.cpp
    return rest.partition(": ")[2]


def _decide(found: Evidence) -> tuple[str, str]:
    """The cause, and the parameter if that is it."""
    by_code = next((cause for cause, codes in _CODES if found.codes & codes), None)
    if found.generated is not None and by_code in (None, "request"):
        return "tool_call", ""
    if by_code == "rate_limit" or (by_code is None and found.status == 429):
        return _limit(found), ""
    if by_code is not None:
        return by_code, ""
    if found.status in (401, 402):
        return table.STATUSES[found.status], ""
    text = found.text
    if found.status in table.FAULTS:
        if refused := _refused_place(found):
            return "parameter", refused
        for cause, words in table.WORDS:
            if cause == "parameter":
                if named := _refused_in_words(text):
                    return cause, named
            elif (found.status < 500 or cause not in LLMError.FATAL) and words.search(text):
                return ("parameter", cause) if cause == "max_tokens" else (cause, "")
    if found.status == 503 and table.SLOW_DOWN.search(text):
        return "rate_limit", ""
    if found.status:
        return table.STATUSES.get(found.status, "server" if found.status >= 500 else "request"), ""
    return ("request" if found.codes & {"invalidrequesterror", "badrequesterror", "invalidargument"} else "server"), ""


def _limit(found: Evidence) -> str:
    """Which limit a server keeps to: one that passes, one of a day, or one that the request alone exceeds."""
    text, wait = found.text, found.wait()
    sizes = TOO_LARGE.search(text) if "tokens per min" in text else None
    if sizes and (sizes[3] or int(sizes[2]) > int(sizes[1])):
        return "context"
    if any("perday" in code for code in found.codes) or re.search(r"\blimit: 0\b", text) or (wait or 0) > LONG:
        return "quota"
    if PER_DAY.search(text):
        return "quota" if wait is None or wait > ROLLING else "rate_limit"
    return "quota" if "resourceexhausted" not in found.codes and table.SPENT.search(text) else "rate_limit"


def _refused_place(found: Evidence) -> str:
    """The parameter that structured fields say is refused."""
    for kind, place in found.places:
        key = _key(place)
        if kind == "missing" and key == "reasoning_content":
            return "reasoning_content+"
        if kind in ("extraforbidden", "valueerrorextra") or (key in table.DISPENSABLE and len(place) <= 2):
            return key
    key = _key(re.split(r"[.\[\]]+", found.parameter))
    if not key or ("tokens" in key and table.OVERFLOW.search(found.text)):
        return ""
    if table.NO_SYSTEM.search(found.text):
        return "system"
    is_refused = key in table.DISPENSABLE or bool(found.codes & table.REFUSAL_CODES)
    return key if is_refused and key not in table.NEVER_REFUSED else ""


def _refused_in_words(text: str) -> str:
    """The parameter that the wording says is refused."""
    for name, words in table.REFUSALS:
        if match := words.search(text):
            key = name or _key(re.split(r"[.\[\]]+", next(filter(None, match.groups()), "")))
            if key not in table.NEVER_REFUSED:
                return key
    return ""


def _key(path: list[str]) -> str:
    """The last name of a path, as the request's body spells it."""
    names = [part for part in path if part and not part.isdigit()]
    if not names:
        return ""
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", names[-1]).lower()
    snake = table.ALIASES.get(snake, snake)
    return snake if snake in table.DISPENSABLE or snake in ("temperature", "top_p", "tools") else names[-1][:100]


def _host(address: str) -> str:
    """The host and port of an address, without what stands before an @: it may be a key."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return "an address that is none"
