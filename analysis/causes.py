"""Why an answer was wrong: one word below the response type, from the recorded steps and the outcome alone.

The response type says which part of the system failed; the cause says how. A right answer has none. The order in which
a cause is looked for:

1. An infrastructure failure, where it ended the episode.
2. A last reply that was cut at max_tokens: whatever went wrong after it, a longer reply might not have.
3. A failed program's own error.
4. A limit. Where at least half of the actions before it went wrong in one way (repeated, unreadable, ...) that is the
   cause, since more steps would not have helped; a context or a time that ran out is named as itself. Where no call
   was valid at all, it is what went wrong most often.
5. Giving up, with a word for an LLM that declined or whose reply was empty.
6. An answer: unparsed, declined, a wrong value although the evidence was seen; else why the evidence was not seen: no
   call, nothing but failed calls, an invented observation, relevant documents that were not found, or stopping short
   of it.

Words that a plug-in made up fall to the general cause of its outcome, so every failure has one. The keys of CAUSES are
the names of causes everywhere; people see them with spaces for underscores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from r_eval.analysis.response_types import LIMITS, Response
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Outcome, OutcomeKind, Step

CAUSES: dict[str, str] = {
    "unknown_api": "Called an API that does not exist.",
    "bad_arguments": "Called an API with arguments that do not fit.",
    "unreadable_action": "Wrote an action or a call that could not be read.",
    "empty_search": "A call found nothing.",
    "failed_call": "A call failed temporarily and was not repeated with success.",
    "repeated_call": "Made the same call again and again.",
    "invented": "Invented an observation instead of waiting for one.",
    "no_call": "Answered without a call.",
    "not_retrieved": "Searched, and the relevant documents were not found.",
    "partly_retrieved": "Found some of the relevant documents, not all.",
    "stopped_short": "Finished although the evidence had not been seen.",
    "undecided": "Finished wrongly; whether the evidence had been seen cannot be judged.",
    "wrong_value": "Saw the evidence and answered something else.",
    "unparsed": "Ended without an answer that could be read.",
    "refused": "The LLM declined to answer.",
    "content_filter": "The provider's content filter blocked the question or the answer.",
    "gave_up": "Gave up.",
    "empty_reply": "The LLM's reply was empty.",
    "cut_off": "The reply was cut at max_tokens.",
    "no_gold": "The question has no gold program or evidence for this workflow to use.",
    "steps": "Used its steps up.",
    "tokens": "Used its tokens up.",
    "calls": "Used its LLM calls up.",
    "seconds": "Used its time up.",
    "depth": "Reached the depth of its search tree without an answer.",
    "context": "The conversation outgrew the LLM's context.",
    "limit": "Reached another limit.",
    "no_program": "The reply held no program.",
    "program_syntax": "The program is not valid Python.",
    "program_name": "The program used a name that does not exist.",
    "program_type": "The program used a value of the wrong type.",
    "program_value": "The program used a value that does not fit.",
    "program_lookup": "The program took an element or a key that is not there.",
    "program_attribute": "The program used an attribute that does not exist.",
    "program_exception": "The program raised another error.",
    "program_time": "The program took too long.",
    "program_memory": "The program took too much memory.",
    "program_output": "The program printed too much.",
    "program_calls": "The program made too many calls.",
    "program_crash": "The program crashed its interpreter.",
    "program_no_answer": "The program left no answer.",
    "misuse": "Used the tools wrongly in another way.",
    "environment": "The environment failed.",
    "workflow": "The workflow's own code failed.",
    "stopped": "The run was stopped.",
    "llm_connection": "The LLM could not be reached.",
    "llm_timeout": "The LLM did not answer in time.",
    "llm_rate_limit": "The LLM's server accepted no more requests.",
    "llm_server": "The LLM's server failed.",
    "llm_request": "The LLM's server refused the request.",
    "llm_key": "The LLM's server refused the key.",
    "llm_model": "The LLM's server does not know the model.",
    "llm_quota": "The account's quota at the LLM's provider is exhausted.",
    "llm_reply": "The LLM's server sent a reply that could not be read.",
    "llm_failure": "The LLM failed in another way.",
    "unscored": "The metric failed, so nothing is known of the answer.",
}
"""A sentence for each cause, in the order of tables."""

GENERAL: dict[OutcomeKind, str] = {
    "finished": "stopped_short",
    "gave_up": "gave_up",
    "exhausted": "limit",
    "tool_misuse": "misuse",
    "tool_failure": "environment",
    "llm_failure": "llm_failure",
    "cancelled": "stopped",
}
"""The cause of an outcome whose word is not known."""

STEP_ERRORS: dict[str, str] = {
    "unknown_api": "unknown_api",
    "bad_arguments": "bad_arguments",
    "not_found": "empty_search",
    "temporary": "failed_call",
    "tool_error": "failed_call",
    "environment": "environment",
    "repeated": "repeated_call",
    "limit": "limit",
    "length": "cut_off",
    "content_filter": "refused",
    "refusal": "refused",
    "empty": "empty_reply",
    "invented": "invented",
    "unparsed": "unparsed",
}
"""The cause of a step's error."""

EXCEPTIONS: dict[str, str] = {
    "NameError": "program_name",
    "UnboundLocalError": "program_name",
    "TypeError": "program_type",
    "ValueError": "program_value",
    "KeyError": "program_lookup",
    "IndexError": "program_lookup",
    "AttributeError": "program_attribute",
}
"""The cause of a program's exception."""

_ALIASES: dict[str, dict[str, str]] = {
    "gave_up": {"give_up": "gave_up", "tool_call": "unparsed", "no_program": "no_gold", "no_evidence": "no_gold"},
    "tool_misuse": {
        **{
            word: STEP_ERRORS[word] for word in ("unknown_api", "bad_arguments", "not_found", "temporary", "tool_error")
        },
        "no_program": "no_program",
    },
    "llm_failure": {"parameter": "llm_request"},
}
"""By outcome, its words that are neither a cause nor one without its prefix."""
_PREFIXES = {"tool_misuse": "program_", "llm_failure": "llm_"}
_OF_REPLIES = ("unreadable_action", "refused", "empty_reply", "cut_off")
"""Faults of a reply that held no call."""
_NOTHING = frozenset({"", "0 results.", "[]", "{}", "null", "none", '""'})
_RAISED = re.compile(r"(?:line \d+: )?(\w+)(?::|$)")
_SHORTENED = "The context overflowed"
_CAN_NOT = r"(?:can ?not|can['’]t|could ?n[o']t|couldn['’]t|(?:am|['’]m|was|is) (?:unable|not able)|unable)"
_DECLINES = re.compile(
    rf"\W*(?:i['’]?m sorry|i am sorry|sorry|i apologi[sz]e|i (?:do not|don['’]t) know|(?:it is |it's )?unknown\W*$"
    rf"|n/a\W*$|not (?:found|available|known|enough information)\b|(?:no|insufficient) (?:answer|information|data)\b"
    rf"|i (?:do not|don['’]t) have\b|抱歉|对不起|我?(?:无法|不能|不知道)|申し訳|わかりません|分かりません)"
    rf"|.{{0,80}}\b{_CAN_NOT}\s+(?:to\s+)?(?:be\s+)?(?:answer|determine|find|found|provide|help|assist|complete)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(slots=True)
class ActionCounts:
    """What the recorded steps of an episode tried: query API calls, and replies that should have held one and did not.

    Attributes:
        calls: Query API calls, valid or not.
        found: Calls that returned something.
        right: Calls that went through, with or without a result.
        faults: What went wrong, by its cause; an action has one fault at most.
        invented: Whether the LLM invented an observation.
        last: The error of the last reply, "" for none.
    """

    calls: int = 0
    found: int = 0
    right: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    invented: bool = False
    last: str = ""

    def main_fault(self, share: float = 0.0) -> str:
        """The fault that the most actions have, the first of several; "" where it has less than a share of them."""
        if not self.faults:
            return ""
        word, count = self.faults.most_common(1)[0]
        made = self.calls + sum(self.faults[word] for word in _OF_REPLIES)
        return word if count >= share * made else ""


def actions(steps: Sequence[Step]) -> ActionCounts:
    """Count what an episode's steps tried.

    A complaint of the workflow right after a reply says that the reply could not be read; after a call, that a further
    call of the same reply could not be, unless the call was a repeated one.
    """
    made, seen, before = ActionCounts(), set[tuple[str | None, str, str]](), ""
    for step in steps:
        if step.kind == "call":
            key = (step.api, repr(sorted((step.arguments or {}).items())), step.observation or "")
            is_again, is_empty = key in seen, (step.observation or "").strip().lower() in _NOTHING
            seen.add(key)
            before = "repeated" if is_again else "call"
            made.calls += 1
            made.right += step.error is None
            made.found += step.error is None and not is_empty
            if step.error is not None:
                made.faults[STEP_ERRORS.get(step.error, "bad_arguments")] += 1
            elif is_empty or is_again:
                made.faults["empty_search" if is_empty else "repeated_call"] += 1
        elif step.kind == "thought":
            before, made.last = "thought", step.error or ""
            made.invented = made.invented or step.error == "invented"
        elif step.kind == "observation" and before != "repeated" and not step.text.startswith(_SHORTENED):
            if before:
                flaw = STEP_ERRORS.get(made.last, "") if before == "thought" else ""
                made.faults[flaw if flaw in _OF_REPLIES else "unreadable_action"] += 1
            before = ""
    return made


def why(episode: Episode, response: Response, made: ActionCounts | None = None) -> str:
    """The cause of an episode's failure, a key of `CAUSES`; "" where its answer matches.

    Args:
        response: Its response type, from `response_types.classify`.
        made: Its actions, where they have been counted already.
    """
    outcome = episode.outcome
    if response.matched:
        return ""
    if outcome.kind in INFRASTRUCTURE_FAILURES:
        return named(outcome)
    made = actions(episode.steps) if made is None else made
    last = STEP_ERRORS.get(made.last, "")
    if last == "cut_off":
        return last
    if outcome.kind == "exhausted" or (outcome.kind == "tool_misuse" and outcome.cause in LIMITS and not made.right):
        return _limited(outcome, made)
    if outcome.kind == "tool_misuse":
        return _failed_program(outcome)
    if outcome.kind == "gave_up" and outcome.cause != "content_filter":
        return last if last in ("refused", "empty_reply") else named(outcome)
    return named(outcome) if outcome.kind == "gave_up" else _answered(episode, response, made, last)


def named(outcome: Outcome) -> str:
    """The cause of an outcome's own word."""
    alias = _ALIASES.get(outcome.kind, {}).get(outcome.cause)
    cause = alias or f"{_PREFIXES.get(outcome.kind, '')}{outcome.cause}"
    return cause if cause in CAUSES else GENERAL[outcome.kind]


def _limited(outcome: Outcome, made: ActionCounts) -> str:
    """Why a limit was reached."""
    limit = outcome.cause if outcome.cause in LIMITS else "limit"
    if outcome.cause in ("context", "seconds"):
        return limit
    return made.main_fault(0.5 if outcome.kind == "exhausted" else 0.0) or limit


def _failed_program(outcome: Outcome) -> str:
    cause = named(outcome)
    raised = _RAISED.match(outcome.detail) if cause == "program_exception" else None
    return EXCEPTIONS.get(raised[1], cause) if raised else cause


def _answered(episode: Episode, response: Response, made: ActionCounts, last: str) -> str:
    """Why an episode that finished by itself is wrong."""
    if not episode.answer.strip():
        return last if last in ("refused", "empty_reply") else "unparsed"
    if last == "refused" or declines(episode.answer):
        return "refused"
    if response.supported:
        return "wrong_value"
    if not made.found:
        return "invented" if made.invented else made.main_fault() or "no_call"
    if response.retrieved is not None and response.retrieved < 1.0:
        return "partly_retrieved" if response.retrieved else "not_retrieved"
    return "undecided" if response.undecided else "stopped_short"


def declines(answer: str) -> bool:
    """Whether an answer says that there is none ("I cannot determine this", "unknown")."""
    return _DECLINES.match(answer[:300]) is not None
