"""The table of failures: what providers call them, by code, status, wording and class. `failures` reads it.

No repetition in a pattern here is unbounded, so that a hostile message costs no more than any other of its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from r_eval.llms.base import Finish

ENVELOPES = (
    {"error", "errors", "Error", "detail", "details", "message", "msg", "Message", "metadata", "raw", "innererror"}
) | {"body", "provider_specific_fields", "violations", "ResponseMetadata"}
"""Keys under which an error has its sentence, or holds another error."""
CODE_KEYS = (
    {"code", "Code", "type", "__type", "status", "status_code", "http_status", "HTTPStatusCode", "reason", "error_code"}
) | {"error_type", "quotaId", "quota_limit"}
VAGUE_STATUSES = frozenset({0, 200, 400, 424, 500, 502})  # a gateway may use them for any error, whose status counts


def normal(code: str) -> str:
    """A code without case and punctuation."""
    return re.sub(r"[\W_]+", "", code).lower()


_CODES = {
    "content_filter": """content_filter content_policy_violation invalid_prompt SAFETY ResponsibleAIPolicyViolation
        data_inspection_failed DataInspectionFailed guardrail_intervened hooks_failed bio_policy
        misalignment_policy_violation SensitiveContentDetected moderation_blocked sensitive_words_detected
        1301 minimax1026 minimax1027""",
    "context": """context_length_exceeded exceed_context_size_error model_max_prompt_tokens_exceeded
        tokens_limit_reached prompt_limit request_too_large 1261 minimax1039""",
    "tool_call": """tool_use_failed output_parse_failed json_validate_failed tool_error MALFORMED_FUNCTION_CALL
        UNEXPECTED_TOOL_CALL""",
    "quota": """insufficient_quota insufficient_user_quota billing_hard_limit_reached billing_not_active billing_error
        account_deactivated
        exceeded_current_quota_error credit_limit Arrearage budget_exceeded
        usage_limit_reached access_terminated_error organization_restricted ServiceQuotaExceededException 1113
        minimax1008""",
    "model": """model_not_found DeploymentNotFound model_decommissioned model_not_supported model_not_available
        model_terms_required model_permission_blocked_org model_permission_blocked_project invalid_model
        Model.AccessDenied key_model_access_denied
        team_model_access_denied InvalidEndpointOrModel.NotFound 1211""",
    "key": """invalid_api_key API_KEY_INVALID authentication_error invalid_authentication_error UNAUTHENTICATED
        UnrecognizedClientException InvalidSignatureException ExpiredTokenException minimax1004""",
    "request": "unsupported_country_region_territory invalid_function_parameters",
    "rate_limit": """rate_limit_exceeded rate_limit_error rate_limit_reached_error ThrottlingException
        Throttling.RateQuota RESOURCE_EXHAUSTED 1302 minimax1002""",
    "server": """overloaded_error engine_overloaded_error insufficient_system_resource UNAVAILABLE DEADLINE_EXCEEDED
        ServiceUnavailableException ModelNotReadyException""",
}
CODES: Mapping[str, frozenset[str]] = {cause: frozenset(map(normal, codes.split())) for cause, codes in _CODES.items()}
"""Codes that decide by themselves, case and punctuation aside; of several causes the first here wins."""

STATUSES: Mapping[int, str] = {
    **{401: "key", 402: "quota", 413: "context", 446: "content_filter", 498: "rate_limit", 501: "request"},
    **dict.fromkeys((408, 409, 424, 425), "server"),
}
"""What a status means alone; the others from 500 on are "server", those below are "request". 446 is a guardrail's, 498
Groq's for a tier that is full."""


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE | re.DOTALL | re.MULTILINE)


PER_DAY = _any(r"per[ _-]?day|\b[RT]PD\b")

_NOT = r"(?:not supp|n.t supp|unsupp|not allowed|not enabled|not available)"
_NAME = r"[`'\"“\[]{0,2}([\w.\[\]-]{1,100})"
_MAX_TOKENS = r"max_\w{0,11}tokens\b"
_OPTIONAL = rf"(?:\b(temperature|top_?p|{_MAX_TOKENS}|tool_choice|seed)\b|[`'\"](stop)[`'\"]|\b(stop)(?= is ))"
_MODEL = r"(?<!/)\bmodels?\b(?:[ /:(]{1,2}(?:id )?[`'\"]?[\w./:@-]{1,100}[`'\"]?)?"
"""A model, perhaps with its name."""
_PROMPT = (
    r"(?:context|prompt|input(?! should)|tokens?\b(?! (?:quota|budget|rate))|(?<!stop[ _])sequence|messages?"
    r"|conversation)"
)
_MORE = (
    r"(?:exceed|too (?:long|large|big|many)|overf|(?:long|larg|great|more|less)\w{0,2} than|fit in"
    r"|supports (?:up to|\d))"
)

FAULTS = frozenset({0, 200, 400, 403, 404, 410, 412, 413, 422, 424, 500, 501, 502})
"""Statuses that servers give for a fault of the request or of the model's reply; others are not read for more."""

WORDS: Mapping[str, re.Pattern[str]] = {
    "tool_call": _any(
        r"^(?:[\w.]{0,80}(?:error|exception)[: -]{1,3}){0,4}(?:"
        r"(?:failed to|could not|unable to|error) pars(?:e|ing) (?:the )?"
        r"(?:(?:tool|function)[ -]call|input at pos|fc related|generated text)",
        r"tool call (?:parsing error|validation failed)|tool error: |invalid tool call arg|failed to call a function",
        r"malformed (?:function|tool) call|attempted to call tool|xml syntax error on line",
        r"(?:the )?model (?:produced|generated) (?:an )?(?:invalid|output that)|unexpected tokens? .{0,40}message head",
        r"\d validation errors? for list\[function|(?:expecting|unterminated string|extra data).{0,60}\(char \d{1,12})",
    ),
    "content_filter": _any(
        r"content[ -](?:management )?(?:filter|polic)|usage (?:policy|policies|guidelines)|safety system",
        r"content exists risk|considered high risk|flagged (?:as|for|by)|was flagged",
        r"inappropriate content|(?:contain |new_)sensitive|violated guardrail|敏感内容|违规内容",
        r"violation of (?:\w{1,20} ){0,2}terms of service|blocked by (?:\w{1,20} ){0,2}guardrail",
        r"(?:prompt|input|output|response)[^\n]{0,40} blocked by [^\n]{0,40}polic",
    ),
    "parameter max_tokens": _any(  # a length of the reply that no prompt, however short, would make possible
        rf"^(?:[\w .]{{1,40}}: |invalid |range of )?\W{{0,2}}{_MAX_TOKENS}"
        r"(?![^\n]{0,300}(?:context|input|prompt|extra|got -|unsupp|not supp))|maximum tokens you requested exceed",
    ),
    "rate_limit": _any("slow down|rate limit|too many requests|(?:per|a|your) minute|please wait"),
    "context": _any(
        rf"{_PROMPT}[^\n]{{0,60}}?\W{_MORE}|{_MORE}[^\n]{{0,40}}?\W{_PROMPT}|reduce [^\n]{{0,20}}{_PROMPT}",
        r"max(?:imum)? (?:context|prompt|input|sequence)|range of input length|must be <=|n_ctx|context_length",
        r"window is full|out of (?:\w{1,20} ){0,2}context|context shift is disabled",
        r"max_tokens must be at least 1, got -",  # what the prompt leaves for the reply
        r"max_tokens or model output limit was reached",  # all that was allowed went into reasoning
        r"(?:prompt|输入|上下文|长度)[^。\n]{0,12}(?:超|过长)|超(?:出|过)[^。\n]{0,20}(?:长度|上下文|token)",
    ),
    "quota": _any(
        r"insufficient (?:account )?(?:balance|credit|fund)|(?:more|out of|monthly included) credits|credit limit",
        r"(?:billing hard|spending|key) limit|reached your (?:\w{1,20} ){0,3}usage limit|exceeded your current quota",
        r"(?:hour|dai|week|month)ly (?:\w{1,20} ){,2}(?:quota|limit)|balance is too low|payment required",
        r"token (?:quota|budget)|余额不足|欠费|额度",
    ),
    "request": _any(
        r"(?:country|region|territory|location).{0,40}(?:not supported|unsupported)",
        r"invalid schema for function",  # which may name anything
        r"unexpected endpoint|failed to deserialize|jinja exception: (?!only user)",
    ),
    "parameter reasoning_content+": _any(
        r"reasoning_content\W{0,3} (?:is missing|field required|in the thinking mode)|missing .?reasoning_content"
    ),
    "parameter system": _any(
        r"system (?:role|message|prompt|instruction)s?\W{0,3} (?:\w{1,20} )?" + _NOT,
        r"role' does not support 'system'|(?:only|must be in \[?)\W{0,3}user,? (?:and )?assistant",
        r"developer instruction is not enabled|n.t support system|roles must alternate",
    ),
    "parameter tool_choice": _any(
        _NOT + ".{0,40}tool[_ ]?choice|support the provided .tool_choice",
        rf"tool[_ ]?choice[^.]{{0,40}}(?:{_NOT}|incompat|forces|must be auto)",
    ),
    "parameter tools": _any(
        r"endpoints found that support tool use|requires? (?:--enable-auto-tool-choice|--jinja)",
        _NOT + r"\w{0,5} (?:[\w`']{1,30} ){0,4}[`']?(?:tools\b|tool use|tool[ -]calling|function[ -]calling)",
        rf"\b(?:tools|tool use|(?:tool|function) call(?:ing|s)?)\W{{1,2}}(?:\w{{1,20}} ){{,2}}(?:{_NOT}|unavailable)",
    ),
    "parameter include": _any(r"encrypted content is " + _NOT),
    "parameter stop": _any(_NOT + r".{0,20}stop_?sequence"),
    "parameter": _any(
        r"^un(?:supported|known)_(?:parameter|value) at (\S{1,300})\.$",
        # What is left out or adapted whatever a server says against it. A temperature that is out of range is the
        # grid's fault instead: without it something else would be measured.
        rf"^[\w.]{{1,100}} at (stop|seed|tool_choice|{_MAX_TOKENS})\.$|^body\.(stop|seed|tool_choice|{_MAX_TOKENS}): ",
        r"(?:(?:unknown|unrecognized|unsupported|unexpected)(?: request| keyword)? (?:parameter|field|name|key|"
        r"argument)s?(?:\(s\))?(?: in object| supplied)?:?|additional properties are not allowed|extraneous key|"
        r"extra inputs are not permitted, field:|argument not supported[^:]{0,40}:|unsupported value:|"
        rf"not support (?:the )?(?:parameter|argument|field)s?:?) \(?{_NAME}",
        r"(?<![\w.\[\]-])([\w.\[\]-]{1,100})[`'\"]{0,2}: extra (?:inputs are|fields) not permitted",
        r"'loc': \((?:[^()]{0,200}, )?'(\w{1,100})',?\), 'msg': 'Extra inputs",
        rf"property {_NAME}\W{{1,3}}is unsupported|[\w\]]\.{_NAME}: \w{{1,40}} is not supported with this model",
        rf"{_OPTIONAL}[^.]{{0,50}}(?:{_NOT}|deprecated|strictly positive|: only|must be (?:1|auto)\b)",
        rf"(?:{_NOT}|only supports )[^.]{{0,40}}{_OPTIONAL}",
    ),
    "model": _any(
        rf"{_MODEL} (?:(?:is|was|has|does|could|with on-demand throughput) )?(?:been |deprecated and )?"
        r"(?:(?:not|no longer) (?:be )?(?:found|exist|available|supported)|doesn't exist|decommissioned|isn.t supported"
        r")\b|model version has reached|this model is marked|no models loaded|model use case details",
        r"(?:invalid|unknown|unsupported|no such|not found the|unable to access|access to(?: the)?) model\b|^model: ",
        r"is not a valid model|no endpoints found for|model identifier is invalid|模型不存在|无可用渠道",
        r"not found for account|available for the selected model",
    ),
    "key": _any(
        r"(?:incorrect|invalid|missing|expired|no) (?:x-)?api[- ]key|missing or invalid authorization",
        r"api key (?:\S{1,20} ){0,3}(?:not valid|invalid|expired)|(?:invalid|no) (?:access token|auth credentials)",
    ),
    "server": _any("model (?:is unloaded|has crashed)|failed to load model"),
}
"""What wording says where no code decides, in the order in which it is tried: a cause, and the parameter if that is it;
where a row names none, the words hold its name."""

ACCOUNT = _any(
    r"\b(?:accessdeniedexception|keys?|tokens?|accounts?|project|subscription|billing|scopes?|credentials?)\b|\b(?:authenti|(?:un)?authori[sz])",
    r"permission(?! to access (?:/|this (?:resource|page|server)))|organi[sz]ation (?:must|is|does|was|has been)\b",
    "权限|密钥|令牌|认证|鉴权|账号|账户",
)
"""What a 403 is about that refuses the LLM's user rather than one request."""

REQUEST_CODES = frozenset({"invalidrequesterror", "badrequesterror", "invalidargument"})
REFUSAL_CODES = frozenset({"unsupportedparameter", "unsupportedvalue", "unknownparameter"})
PARAMETERS = frozenset({"temperature", "top_p", "tools", "stop", "seed", "tool_choice", "max_tokens"})
NEVER_REFUSED = frozenset({"", "messages", "prompt", "input", "model"})
ALIASES = {"stop_sequences": "stop", "max_new_tokens": "max_tokens", "max_output_tokens": "max_tokens"}

_FINISHES: Mapping[Finish, str] = {
    "stop": "stop end_turn eos eos_token stop_sequence complete completed done",
    "length": "length max_tokens model_length max_length max_output_tokens token_limit model_context_window_exceeded",
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "content_filter": """content_filter content_filtered safety recitation prohibited_content blocklist spii sensitive
        guardrail_intervened model_armor error_toxic""",
    "refusal": "refusal",
}
FINISHES: Mapping[str, Finish] = {word: name for name, words in _FINISHES.items() for word in words.split()}
MISCALLED = frozenset({"malformed_function_call", "unexpected_tool_call"})  # a call that the server could not read
BROKEN_OFF = frozenset({"error", "network_error", "abort", "insufficient_system_resource"})
"""Ways to end that are the server's fault, so that there is no reply."""

CLASSES = {
    "context": "ContextOverflow|ContextWindow",
    "content_filter": "ContentPolicy|ContentFilter",
    "timeout": "Timeout|DeadlineExceeded",
    "rate_limit": "RateLimit|ResourceExhausted|TooManyRequests|Throttl",
    "key": "Authentication|Unauthorized|PermissionDenied|NoCredentials",
    "reply": "JSONDecode|ResponseValidation|ValidationError",
    "connection": "Connect|ServerDisconnected|ProtocolError|ReadError|WriteError|NetworkError|OSError|ClientPayload",
    "request": "BadRequest|InvalidRequest|Unprocessable|InvalidArgument",
}
"""Causes by the names of an exception's classes."""
