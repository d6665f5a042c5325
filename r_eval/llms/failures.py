"""Who is to blame: what a provider's way of failing means.

Evidence is read in this order: the codes in the body (and those of a provider's error that a gateway wraps), statuses
that say all by themselves, the parameter that is named, the wording, and last the status. A provider that fails in a
new way is a new entry in `failure_words`, and a new row of the test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from r_eval.llms import evidence
from r_eval.llms import failure_words as table
from r_eval.llms.base import Finish, LLMError
from r_eval.llms.evidence import Evidence

LONGEST_WAIT = 600.0  # seconds; nobody waits longer for one reply
LONG = 3600.0  # seconds that a run does not wait out: such a limit is a quota
ROLLING = 60.0  # seconds below which a limit of a day lets another request through soon

HOST = re.compile(r"\w{1,20}://(?:[^/?#]*@)?([^/?#@]*)")  # without what stands before an @: it may be a key

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
        host = HOST.match(found.headers.get("location", ""))
        where = (host and evidence.one_line(host[1])) or "another path"
        why = f"it redirects to {where}; if that is right, name that address as base_url"
        return ProviderError("request", f"HTTP {status}: {why}")
    return _failure(found, f"HTTP {status}: " if status else "")


def error_in(data: Any) -> ProviderError | None:
    """The error inside an answer that calls itself a success; None where there is none.

    Args:
        data: Parsed JSON of any type; a list is an answer in pieces, of which any may be an error.
    """
    answers = data[: evidence.MOST_ITEMS] if isinstance(data, list) else [data]
    for answer in answers:
        if isinstance(answer, dict) and (body := _error_body(answer)) is not None:
            return _failure(evidence.collect(0, body), "HTTP 200 with an error: ")
    return None


def finish(reason: object) -> Finish:
    """Why generation ended, by any provider's word for it."""
    return next((_FINISHES[word] for word in _words(reason) if word in _FINISHES), "unknown")


def of_exception(error: BaseException) -> ProviderError:
    """What an exception of an SDK or an HTTP client means: its attributes count most, then its text, then its class."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and len(chain) < evidence.MOST_CAUSES:
        chain.append(cause)
    found = evidence.collect_raised(chain)
    failure = _failure(found, f"HTTP {found.status}: " if found.status else f"{type(error).__name__}: ")
    classes = " ".join(kind.__name__ for one in chain for kind in type(one).__mro__)
    by_class = next((cause for cause, names in table.CLASSES if re.search(names, classes)), None)
    if by_class and not found.status and (failure.cause in ("request", "server") or by_class == "reply"):
        failure.cause = by_class
    return failure


def _words(*reasons: object) -> list[str]:
    """The words in reasons to end, of those that are text."""
    said = " ".join(reason[:200] for reason in reasons if isinstance(reason, str))
    return re.findall(r"\w+", said.lower().replace("-", "_"))


def _error_body(data: Mapping[str, Any]) -> Any:
    """The part of an answer that holds an error, with a code where only its place or its ending tells of one."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    ending = _words(choice.get("finish_reason"), choice.get("native_finish_reason"))
    base, prompt = data.get("base_resp"), data.get("promptFeedback")
    if _tells(data.get("error")):
        return {key: value for key, value in data.items() if key != "choices"}
    if table.MISCALLED.intersection(ending):
        written = message.get("content") if isinstance(message, dict) else None
        return {"code": ending[-1], "message": " ".join(ending), "failed_generation": written}
    if _tells(choice.get("error")):
        return {"error": choice["error"]}
    if table.BROKEN_OFF.intersection(ending):
        return {"code": "insufficient_system_resource", "message": f"finish_reason is {' '.join(ending)}"}
    if not isinstance(message, dict) and finish(choice.get("finish_reason")) == "content_filter":
        return {"code": "content_filter", "message": f"finish_reason is {' '.join(ending)}"}
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
    failure.text = _model_text(found)[: evidence.LONGEST_JSON] if cause == "tool_call" else ""
    return failure


def _model_text(found: Evidence) -> str:
    """What the model wrote, where the provider hands it back or quotes it in its sentence."""
    if found.generated is not None:
        return found.generated
    said = "\n".join(found.sentences)
    call, mark, _ = said.partition("raw='")[2].rpartition("', err=")  # Ollama
    return call if mark else said.partition("parse input at pos ")[2].partition(": ")[2]  # llama.cpp


def _decide(found: Evidence) -> tuple[str, str]:
    """The cause, and the parameter if that is it."""
    by_code = next((cause for cause, codes in _CODES if found.codes & codes), None)
    if found.generated is not None and by_code in (None, "request"):
        return "tool_call", ""
    if by_code == "rate_limit" or (by_code is None and found.status == 429):
        return _limit(found), ""
    if by_code is not None:
        return by_code, ""
    text = found.text
    rows = list(table.WORDS.items()) if found.status in table.FAULTS else []
    if found.codes & table.REFUSAL_CODES:  # then the parameter is what is refused, whatever else the sentence mentions
        rows.sort(key=lambda row: not row[0].startswith("parameter"))
    for row, words in rows:
        cause, _, name = row.partition(" ")
        if (said := words.search(text)) and (found.status < 500 or cause not in LLMError.FATAL):
            refused = name or _key(next(filter(None, said.groups()), ""))
            if cause != "parameter" or refused not in table.NEVER_REFUSED:
                return cause, refused
    if found.status == 503 and table.WORDS["rate_limit"].search(text):
        return "rate_limit", ""
    if found.status:
        return table.STATUSES.get(found.status, "server" if found.status >= 500 else "request"), ""
    return ("request" if found.codes & {"invalidrequesterror", "badrequesterror", "invalidargument"} else "server"), ""


def _limit(found: Evidence) -> str:
    """Which limit a server keeps to: one that passes, one of a day, or one that the request alone exceeds."""
    text, wait = found.text, found.wait()
    sizes = table.TOO_LARGE.search(text) if "tokens per min" in text else None
    if sizes and (sizes[3] or int(sizes[2]) > int(sizes[1])):
        return "context"
    if any("perday" in code for code in found.codes) or re.search(r"\blimit: 0\b", text) or (wait or 0) > LONG:
        return "quota"
    if table.PER_DAY.search(text):
        return "quota" if wait is None or wait > ROLLING else "rate_limit"
    return "quota" if "resourceexhausted" not in found.codes and table.WORDS["quota"].search(text) else "rate_limit"


def _key(path: str) -> str:
    """The last name of a path, as the request's body spells it."""
    name = next((part for part in reversed(re.split(r"[.\[\]]+", path)) if part and not part.isdigit()), "")
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    snake = table.ALIASES.get(snake, snake)
    return snake if snake in table.PARAMETERS else name[:100]
