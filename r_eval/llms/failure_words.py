"""The table of failures: what providers call them, by code, status, wording and class. `failures` reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from r_eval.llms.base import Finish

CODES: Mapping[str, str] = {
    "content_filter": """content_filter content_policy_violation ContentPolicyViolationError invalid_prompt SPII SAFETY
        ResponsibleAIPolicyViolation data_inspection_failed DataInspectionFailed moderation_blocked PROHIBITED_CONTENT
        BLOCKLIST guardrail_intervened hooks_failed sensitive_words_detected bio_policy misalignment_policy_violation
        1301 minimax1026 minimax1027""",
    "context": """context_length_exceeded exceed_context_size_error ContextWindowExceededError ContextOverflowError
        model_max_prompt_tokens_exceeded tokens_limit_reached prompt_limit request_too_large string_above_max_length
        1261 minimax1039""",
    "tool_call": """tool_use_failed output_parse_failed json_validate_failed MALFORMED_FUNCTION_CALL
        UNEXPECTED_TOOL_CALL""",
    "quota": """insufficient_quota billing_hard_limit_reached billing_not_active billing_error account_deactivated
        insufficient_balance insufficient_credits exceeded_current_quota_error payment_required credit_limit Arrearage
        budget_exceeded usage_limit_reached access_terminated_error 1113 minimax1008""",
    "model": """model_not_found DeploymentNotFound model_decommissioned model_not_supported model_not_available
        model_terms_required model_permission_blocked_org invalid_model unknown_model 1211""",
    "key": """invalid_api_key API_KEY_INVALID authentication_error AuthenticationError invalid_authentication_error
        UNAUTHENTICATED UnrecognizedClientException InvalidSignatureException ExpiredTokenException ExpiredToken
        minimax1004""",
    "request": "unsupported_country_region_territory",
    "rate_limit": """rate_limit_exceeded rate_limit_error RateLimitError rate_limit_reached_error ThrottlingException
        Throttling Throttling.RateQuota RESOURCE_EXHAUSTED TooManyRequestsException 1302 minimax1002""",
    "server": """overloaded_error engine_overloaded_error insufficient_system_resource UNAVAILABLE DEADLINE_EXCEEDED
        ServiceUnavailableException ModelNotReadyException ModelTimeoutException InternalServerException""",
}
"""Codes that decide by themselves, case and punctuation aside; of several causes the first here wins."""

STATUSES: Mapping[int, str] = {
    401: "key",
    402: "quota",
    403: "key",
    408: "server",
    409: "server",
    413: "context",
    425: "server",
    429: "rate_limit",
    446: "content_filter",
    499: "server",
}
"""What a status means alone; the others from 500 on are "server", those below are "request". 446 is a guardrail's."""


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE | re.DOTALL)


OVERFLOW = _any(
    r"maximum (?:context|prompt) length",
    r"(?:exceed(?:s|ed|ing)?|(?:long|great|larg)er than|more than) (?:\S+ ){0,4}context",
    r"context (?:length|window|size|limit)\S* (?:has been |was |is )?exceed",
    r"context (?:the )?overflows",
    r"(?:prompt|input|request|string|sequence|message|conversation)s? (?:\S+ ){0,2}too long",
    r"input token count.{0,40}exceed",
    r"prompt (?:exceeds|token count)",
    r"exceeds? (?:the )?(?:model'?s? )?max(?:imum)? (?:allowed |input |prompt |sequence )?len",
    r"longer than the max(?:imum)? (?:model |input )?len",
    r"(?:exceeds?|exceeded) (?:the )?(?:max(?:imum)? number of (?:input )?tokens|token limit)|token limit exceeded",
    r"too many (?:input |total |prompt )?tokens(?! per|.{0,4}please wait)",
    r"reduce (?:the |your )?(?:length|number of tokens|size|prompt|input|message)",
    r"must have less than \d+ tokens",
    r"inputs?`? tokens \+ `?max_new_tokens`? must be",
    r"tokens?(?: \d+)? cannot exceed",
    r"n_keep.{0,20}n_ctx|exceeds? n_ctx",
    r"max_(?:prompt|input)_tokens",
    r"max_tokens must be at least 1, got -",  # what the prompt leaves for the reply
    r"range of input length",
    r"exceed\w* (?:\w+ ){0,2}(?:model token limit|message tokens)",
    r"prompt ?超长|输入(?:内容)?过长|超(?:出|过)[^。]{0,20}(?:长度|上下文|token)|上下文[^。]{0,12}(?:超|过长)",
)
SPENT = _any(
    r"insufficient (?:account )?(?:balance|credit|fund)",
    r"balance is too low",
    r"(?:more|out of|monthly included) credits",
    r"credit limit|billing hard limit|spending limit",
    r"exceeded your current quota",
    r"payment required",
    r"余额不足|欠费",
)
UNPARSED = _any(
    r"^(?:[\w.]{1,80}(?:error|exception)[: -]{1,3}){0,4}(?:"
    r"failed to parse (?:tool|input at pos|fc related|function call)",
    r"error parsing tool call",
    r"invalid tool call",
    r"tool call validation failed",
    r"failed to call a function",
    r"malformed (?:function|tool) call",
    r"error in extracting tool call",
    r"xml syntax error on line",
    r"attempted to call tool",
    r"the model (?:produced|generated) (?:invalid|output that)",
    r"unexpected tokens? .{0,40}(?:start token|message header)",
    r"\d+ validation errors? for list\[function",
    r"(?:expecting|unterminated string|extra data|invalid control).{0,60}\(char \d+\))",
)
FILTERED = _any(
    r"content management policy|content[ -]filter|content polic",
    r"usage (?:policy|policies|guidelines)",
    r"content exists risk|inappropriate content|considered high risk",
    r"flagged (?:as|for|by)|requires moderation",
    r"guardrail (?:checks|intervened)|blocked by (?:our |the )?(?:safety|guardrail)|prompt (?:was |is )?blocked",
    r"敏感内容|不安全或敏感|违规内容",
)
UNKNOWN_MODEL = _any(
    r"\bmodels?\b.{0,120}(?:not found|not exist|doesn't exist|decommissioned|name format|isn.t supported)",
    r"\bmodel\b.{0,120}is not supported by (?:any )?provider",
    r"(?:invalid|unknown|no such|find|not found the|unable to access|access to the) model\b|no models loaded",
    r"is not a valid model|no endpoints found for|model identifier is invalid|^model: ",
    r"模型不存在|无可用渠道",
)
WRONG_KEY = _any(
    r"(?:incorrect|invalid|missing|expired|no) (?:x-)?api[- _]key",
    r"api key (?:not valid|is invalid|expired)",
    r"no auth credentials|unable to locate credentials",
    r"(?:invalid|expired) (?:api|access|auth\w*|bearer|jwt|security) token\b",
)

ANY_BUT_429 = frozenset(range(600)) - {429}
BAD = frozenset({0, 200, 400, 403, 404, 410, 412, 422})
UNSAID = frozenset({0, 200})

WORDS: tuple[tuple[str, frozenset[int], re.Pattern[str]], ...] = (
    ("tool_call", ANY_BUT_429, UNPARSED),
    ("content_filter", ANY_BUT_429, FILTERED),
    ("context", ANY_BUT_429, OVERFLOW),
    ("quota", BAD, SPENT),
    ("request", BAD, _any(r"(?:country|region|territory|location).{0,40}(?:not supported|unsupported)")),
    ("parameter", ANY_BUT_429, _any("")),
    ("model", BAD, UNKNOWN_MODEL),
    ("key", BAD, WRONG_KEY),
    ("rate_limit", UNSAID | {503}, _any("slow down", "rate limit", "too many requests")),
    ("server", UNSAID, _any("overloaded", "loading model", "temporarily unavailable", "internal (?:server )?error")),
)
"""What wording says where no code decides: the cause, the statuses with which it counts, and the words, in the order
in which they are tried. `REFUSALS` are the words of "parameter"."""

_NAME = r"[`'\"“\[]{0,2}([\w.\[\]-]{1,100})"
_OPTIONAL = r"\b(temperature|top_?p|max_(?:completion_|new_)?tokens|tool_choice|seed)\b"
_NOT = r"(?:not supp|n.t supp|unsupp|not allowed|not enabled|not available)"

NO_SYSTEM = _any(
    r"system (?:role|message|prompt|instruction)s?\W* (?:\w+ )?" + _NOT,
    r"role' does not support 'system'",
    r"(?:only|must be in \[?)\W*user,? (?:and )?assistant",
    r"developer instruction is not enabled",
    r"(?:not|n't) support (?:the )?'?system",
)
REFUSALS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "reasoning_content+",
        _any(r"reasoning_content\W* (?:is missing|in the thinking mode must)", r"must include reasoning_content"),
    ),
    ("system", NO_SYSTEM),
    (
        "tool_choice",
        _any(
            _NOT + r".{0,40}tool_?choice",
            r"tool_?choice[^.]{0,40}" + _NOT,
            "tool_?choice[^.]{0,40}(?:incompatible|forces)",
        ),
    ),
    (
        "tools",
        _any(
            r"endpoints found that support tool use|requires? (?:--enable-auto-tool-choice|--jinja)",
            _NOT + r"\w* (?:[\w`']+ ){0,4}[`']?(?:tools\b|tool use|tool[ -]calling|function[ -]calling)",
            r"\b(?:tools|tool use|tool calling|function calling)\W{1,2}(?:\w+ ){0,2}" + _NOT,
        ),
    ),
    (
        "",
        _any(
            r"(?:unknown|unrecognized|unsupported|unexpected)(?: request| keyword)? (?:parameter|field|name|argument|"
            r"key)s?(?:\(s\))?(?: in object| supplied)?:? " + _NAME
        ),
    ),
    ("", _any(rf"property {_NAME}\W+is (?:unsupported|not allowed)")),
    ("", _any(rf"additional properties are not allowed \({_NAME}")),
    ("", _any(rf"extra inputs are not permitted, field: {_NAME}")),
    ("", _any(rf"{_NAME}[`'\"]*: extra inputs are not permitted")),
    ("", _any(r"'loc': \((?:[^()]{0,200}, )?'(\w+)',?\), 'msg': 'Extra inputs")),
    ("", _any(rf"extraneous key {_NAME}")),
    ("", _any(rf"argument not supported[^:]*: {_NAME}")),
    ("", _any(rf"not support (?:the )?(?:parameter|argument|field)s?:? {_NAME}")),
    ("", _any(rf"unsupported value: {_NAME}")),
    ("", _any(rf"[\w\]]\.{_NAME}: \w+ is not supported with this model")),
    ("include", _any(r"encrypted content is " + _NOT)),
    ("stop", _any(r"[`'\"]stop[`'\"][^.]{0,40}" + _NOT, r"stop_?sequences?\b[^.]{0,40}" + _NOT)),
    ("stop", _any(_NOT + r".{0,20}stop_?sequence")),
    ("", _any(_OPTIONAL + rf"[^.]{{0,50}}(?:{_NOT}|deprecated|strictly positive|: only)")),
    ("", _any(_NOT + r"[^.]{0,40}" + _OPTIONAL)),
    (
        "max_tokens",
        _any(
            r"max_(?:new_)?tokens\W{0,3}(?:is too large|must be <=|: \d+ > |value)",
            r"range of max_tokens|maximum tokens you requested exceed",
        ),
    ),
)
"""Refused parameters in words: the parameter, or "" where the words hold its name."""

REFUSED = _any(_NOT, "unknown", "unrecognized", "unexpected", "not permitted")
REFUSAL_CODES = frozenset({"unsupportedparameter", "unsupportedvalue", "unknownparameter", "extraforbidden"})
DISPENSABLE = frozenset({"stop", "seed", "tool_choice", "max_tokens", "max_completion_tokens"})
"""Parameters that are left out or adapted whatever a server says against them. A temperature that is out of range is
the grid's fault instead: without it something else would be measured."""

ALIASES = {"stop_sequences": "stop", "max_new_tokens": "max_tokens", "max_output_tokens": "max_tokens"}

FINISHES: Mapping[Finish, str] = {
    "stop": "stop end_turn eos eos_token stop_sequence complete completed done",
    "length": "length max_tokens model_length max_length max_output_tokens token_limit model_context_window_exceeded",
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "content_filter": """content_filter content_filtered safety recitation prohibited_content blocklist spii sensitive
        guardrail_intervened model_armor error_toxic""",
    "refusal": "refusal",
}

CLASSES = (
    ("context", "ContextOverflow|ContextWindow"),
    ("content_filter", "ContentPolicy|ContentFilter"),
    ("timeout", "Timeout|DeadlineExceeded"),
    ("rate_limit", "RateLimit|ResourceExhausted|TooManyRequests|Throttl"),
    ("key", "Authentication|Unauthorized|PermissionDenied|NoCredentials"),
    ("reply", "JSONDecode|ResponseValidation"),
    ("connection", "Connect|ServerDisconnected|ProtocolError|ReadError|WriteError|NetworkError|OSError|ClientPayload"),
    ("request", "BadRequest|InvalidRequest|Unprocessable|InvalidArgument"),
)
"""Causes by the names of an exception's classes."""
