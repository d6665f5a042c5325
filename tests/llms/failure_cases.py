"""How providers say that they fail, in the shapes that they document or that users report; one row per way."""

# ruff: noqa: E501  a row is easier to read on one line

from __future__ import annotations

import dataclasses
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Case:
    """An answer, and what it must be taken for."""

    provider: str
    status: int
    body: Any
    cause: str
    parameter: str = ""
    wait: float | None = None
    text: str = ""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


def openai(message: Any, type: Any = "invalid_request_error", param: Any = None, code: Any = None, **more: Any) -> Any:
    return {"error": {"message": message, "type": type, "param": param, "code": code, **more}}


def vllm(message: Any, type: str = "BadRequestError", code: int = 400) -> Any:
    return {"object": "error", "message": message, "type": type, "param": None, "code": code}


def anthropic(type: str, message: str) -> Any:
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_011CVjx"}


def google(code: int, status: str, message: str, *details: Any) -> Any:
    return [{"error": {"code": code, "message": message, "status": status, "details": list(details)}}]


def openrouter(code: int, message: str, **metadata: Any) -> Any:
    return {"error": {"message": message, "code": code, "metadata": metadata}, "user_id": "user_2x"}


def wrapped(code: int, inner: Any, provider: str = "Upstream") -> Any:
    raw = inner if isinstance(inner, str) else json.dumps(inner)
    return openrouter(code, "Provider returned error", raw=raw, provider_name=provider)


def extra(kind: str, *loc: Any, msg: str = "Extra inputs are not permitted") -> Any:
    return {"type": kind, "loc": list(loc), "msg": msg, "input": "maximum context length, content filter"}


def choice(**parts: Any) -> Any:
    return {"id": "gen-1", "object": "chat.completion", "choices": [{"index": 0, **parts}]}


def quota(quota_id: str) -> Any:
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaMetric": "generate_content_free_tier_requests", "quotaId": quota_id}]}


def retry_in(delay: str) -> Any:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


GROQ_CALL = '<tool-use>{"name": "Search", "parameters": {"entity": "Bogotá"}}'
LFM_CALL = "<|tool_call_start|>[search(query='temperatura en México', n=5)]<|tool_call_end|>"
OLLAMA_CALL = '{"path":"src/données.py","content":"It\'s é"'
AZURE_FILTER = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. Stop sequences and temperature are not allowed to matter here."
GOOGLE_QUOTA = "You exceeded your current quota, please check your plan and billing details."
OPENAI_LONG = "This model's maximum context length is 4097 tokens. However, your messages resulted in 6988 tokens. Please reduce the length of the messages."
GROQ_TPM = "Request too large for model `llama-3.1-8b-instant` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 7042, please reduce your message size and try again."
GROQ_TPD = "Rate limit reached on tokens per day (TPD): Limit 500000, Used 499000, Requested 2000. Please try again in 2m59.5s."

CASES = (
    # OpenAI
    Case("OpenAI", 401, openai("Incorrect API key provided: sk-abc.", code="invalid_api_key"), "key"),
    Case("OpenAI", 404, openai("The model `gpt-9` does not exist or you do not have access to it.", code="model_not_found"), "model"),
    Case("OpenAI", 429, openai("You exceeded your current quota.", "insufficient_quota", code="insufficient_quota"), "quota"),
    Case("OpenAI", 429, openai("Billing hard limit has been reached", code="billing_hard_limit_reached"), "quota"),
    Case("OpenAI", 429, openai("Rate limit reached on requests per day (RPD): Limit 10000. Please try again in 8.64s.", "requests", code="rate_limit_exceeded"), "rate_limit", wait=8.64),
    Case("OpenAI", 429, openai(GROQ_TPM, "tokens", code="rate_limit_exceeded"), "context"),
    Case("OpenAI", 500, openai("The server had an error while processing your request", "server_error"), "server"),
    Case("OpenAI", 503, openai("The engine is currently overloaded", "server_error"), "server", wait=5.0, headers={"Retry-After": "5"}),
    Case("OpenAI", 503, openai("Slow down", "server_error"), "rate_limit"),
    Case("OpenAI", 400, openai("Your request was rejected.", code="content_policy_violation"), "content_filter"),
    Case("OpenAI", 400, openai("Invalid prompt: flagged as potentially violating our usage policy.", code="invalid_prompt"), "content_filter"),
    Case("OpenAI", 400, openai("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", param="temperature", code="unsupported_value"), "parameter", "temperature"),
    Case("OpenAI", 400, openai("'seed' is not supported with this model; see our usage policies.", param="seed", code="unsupported_value"), "parameter", "seed"),
    Case("OpenAI", 400, openai("Invalid 'stop': array too long. Expected maximum length 4.", param="stop", code="array_above_max_length"), "parameter", "stop"),
    Case("OpenAI", 400, openai("Unknown parameter: 'messages[2].foo'.", param="messages[2].foo", code="unknown_parameter"), "parameter", "foo"),
    Case("OpenAI", 400, openai("Unrecognized request arguments supplied: extra_content, seed"), "parameter", "extra_content"),
    Case("OpenAI", 400, openai("Unsupported value: 'messages[0].role' does not support 'system' with this model.", param="messages[0].role", code="unsupported_value"), "parameter", "system"),
    Case("OpenAI", 400, openai("Additional properties are not allowed ('reasoning' was unexpected) - 'messages.1'"), "parameter", "reasoning"),
    Case("OpenAI", 403, openai("Country, region, or territory not supported", code="unsupported_country_region_territory"), "request"),
    Case("OpenAI", 400, openai("Could not finish the message because max_tokens or model output limit was reached. Please try running the request again with higher max_tokens."), "context"),
    Case("OpenAI", 400, openai("Invalid schema for function 'Search': In context=('properties', 'temperature'), 'additionalProperties' is not allowed.", param="tools[0].function.parameters", code="invalid_function_parameters"), "request"),
    # Azure OpenAI
    Case("Azure OpenAI", 400, openai(AZURE_FILTER, None, "prompt", "content_filter", status=400, innererror={"code": "ResponsibleAIPolicyViolation"}), "content_filter"),
    Case("Azure OpenAI", 400, openai(AZURE_FILTER, None, "prompt", None), "content_filter"),
    Case("Azure OpenAI", 200, choice(finish_reason="content_filter"), "content_filter"),
    Case("Azure OpenAI", 404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}}, "model"),
    Case("Azure OpenAI", 404, {"error": {"code": "404", "message": "Resource not found"}}, "request"),
    Case("Azure OpenAI", 401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}}, "key"),
    Case("Azure OpenAI", 429, {"error": {"code": "429", "message": "Too many"}}, "rate_limit", wait=0.5, headers={"retry-after-ms": "500", "Retry-After": "1"}),
    Case("Azure OpenAI", 429, {"error": {"code": "429", "message": "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-05-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds."}}, "quota"),
    Case("Azure OpenAI", 400, openai(OPENAI_LONG, param="messages", code="context_length_exceeded"), "context"),
    Case("Azure OpenAI", 400, openai("Unrecognized request argument supplied: tool_choice"), "parameter", "tool_choice"),
    Case("Azure AI", 400, {"error": {"code": "Invalid input", "message": "invalid", "details": [extra("extra_forbidden", "body", "seed")]}}, "parameter", "seed"),
    Case("GitHub Models", 413, {"error": {"code": "tokens_limit_reached", "message": "Request body too large for gpt-4o model. Max size: 8000 tokens."}}, "context"),
    Case("GitHub Copilot", 400, openai("prompt token count of 140123 exceeds the limit of 128000", None, code="model_max_prompt_tokens_exceeded"), "context"),
    # Anthropic
    Case("Anthropic", 413, anthropic("request_too_large", "Request exceeds the maximum size"), "context"),
    Case("Anthropic", 400, anthropic("invalid_request_error", "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens"), "parameter", "max_tokens"),
    Case("Anthropic", 400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), "content_filter"),
    Case("Anthropic", 403, anthropic("permission_error", "Your API key does not have permission to use the specified resource."), "key"),
    Case("Anthropic", 404, anthropic("not_found_error", "model: claude-9-opus"), "model"),
    Case("Anthropic", 400, anthropic("invalid_request_error", "messages.1.reasoning_details: Extra inputs are not permitted"), "parameter", "reasoning_details"),
    Case("Anthropic", 400, anthropic("invalid_request_error", "`temperature` is deprecated for this model."), "parameter", "temperature"),
    Case("Anthropic", 402, anthropic("billing_error", "Your organization's payment is overdue"), "quota"),
    Case("Anthropic", 400, anthropic("invalid_request_error", "tool_choice: Thinking may not be enabled when tool_choice forces tool use."), "parameter", "tool_choice"),
    Case("Anthropic", 504, anthropic("timeout_error", "Request timed out"), "server"),
    Case("Anthropic (OpenAI)", 429, openai("This request would exceed your organization's rate limit of 50 requests per minute", "rate_limit_error", code="rate_limit_error"), "rate_limit"),
    Case("Anthropic (OpenAI)", 529, openai("Overloaded", "overloaded_error", code="overloaded_error"), "server"),
    Case("Anthropic (OpenAI)", 400, openai("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.", code="invalid_request_error"), "quota"),
    Case("Anthropic (OpenAI)", 401, openai("invalid x-api-key", "authentication_error", code="authentication_error"), "key"),
    Case("Anthropic (OpenAI)", 400, openai("prompt is too long: 210000 tokens > 200000 maximum"), "context"),
    # Gemini's OpenAI-compatible endpoint
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."), "context"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", {"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}), "key"),
    Case("Gemini", 429, google(429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), retry_in("36s")), "quota"),
    Case("Gemini", 429, google(429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA, quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), retry_in("37s")), "rate_limit", wait=37.0),
    Case("Gemini", 404, google(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1main, or is not supported for generateContent."), "model"),
    Case("Gemini", 400, google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), "request"),
    Case("Gemini", 503, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "server"),
    Case("Gemini", 504, google(504, "DEADLINE_EXCEEDED", "Deadline expired"), "server"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \"seed\": Cannot find field."), "parameter", "seed"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \"reasoning_content\" at 'messages[1]': Cannot find field."), "parameter", "reasoning_content"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "Developer instruction is not enabled for models/gemma-3-27b-it"), "parameter", "system"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "Function calling is not enabled for models/gemma-3-27b-it"), "parameter", "tools"),
    Case("Gemini", 200, choice(finish_reason="function_call_filter: MALFORMED_FUNCTION_CALL", message={"content": "call:Search{entity:東京"}), "tool_call", text="call:Search{entity:東京"),
    Case("Gemini", 200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}, "content_filter"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "Missing or invalid Authorization header."), "key"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "Unable to submit request because the input token count is 1435506 but model only supports up to 1048576. Reduce the input token count and try again."), "context"),
    # Bedrock
    Case("Bedrock", 400, {"message": "Input is too long for requested model."}, "context", headers={"x-amzn-ErrorType": "ValidationException:http://internal.amazon.com/"}),
    Case("Bedrock", 400, {"message": "The maximum tokens you requested exceeds the model limit of 2048. Try again with a maximum tokens value that is lower than 2048."}, "parameter", "max_tokens"),
    Case("Bedrock", 400, {"message": "This model doesn't support the stopSequences field. Remove stopSequences and try again."}, "parameter", "stop"),
    Case("Bedrock", 400, {"message": "This model doesn't support tool use."}, "parameter", "tools"),
    Case("Bedrock", 400, {"message": "This model doesn't support the toolConfig.toolChoice.any field."}, "parameter", "tool_choice"),
    Case("Bedrock", 400, {"message": "This model doesn't support system prompts."}, "parameter", "system"),
    Case("Bedrock", 403, {"__type": "AccessDeniedException", "message": "You don't have access to the model with the specified model ID."}, "model"),
    Case("Bedrock", 403, {"message": "The security token included in the request is invalid."}, "key", headers={"x-amzn-errortype": "UnrecognizedClientException"}),
    Case("Bedrock", 400, {"message": "The provided model identifier is invalid."}, "model"),
    Case("Bedrock", 429, {"__type": "ModelNotReadyException", "message": "Model is not ready for inference."}, "server"),
    Case("Bedrock", 200, choice(error={"code": "guardrail_intervened", "message": "Sorry."}), "content_filter"),
    Case("Bedrock", 404, {"__type": "ResourceNotFoundException", "message": "This model version has reached the end of its life. Please refer to the AWS documentation for more details."}, "model"),
    Case("Bedrock", 404, {"__type": "ResourceNotFoundException", "message": "Access denied. This Model is marked by provider as Legacy and you have not been actively using the model in the last 15 days."}, "model"),
    Case("Bedrock", 404, {"__type": "ResourceNotFoundException", "message": "Model use case details have not been submitted for this account."}, "model"),
    Case("Bedrock", 400, {"__type": "ServiceQuotaExceededException", "message": "Your request exceeds the service quota for your account."}, "quota"),
    Case("Bedrock", 424, {"__type": "ModelErrorException", "message": "Model produced invalid sequence as part of ToolUse. Please refer to the model tool use troubleshooting guide."}, "tool_call"),
    Case("Bedrock", 503, {"__type": "ServiceUnavailableException", "message": "Bedrock is unable to process your request."}, "server"),
    # Mistral
    Case("Mistral", 422, {"object": "error", "message": {"detail": [extra("extra_forbidden", "body", "seed")]}, "type": "invalid_request_error", "code": None}, "parameter", "seed"),
    Case("Mistral", 422, {"object": "Error", "message": [extra("extra_forbidden", "body", "messages", 3, "assistant", "reasoning_content")], "code": 3001}, "parameter", "reasoning_content"),
    Case("Mistral", 422, {"object": "error", "message": json.dumps({"detail": [extra("extra_forbidden", "body", "stop")]}), "type": "internal_error_proxy", "code": "1000"}, "parameter", "stop"),
    Case("Mistral", 400, {"object": "error", "message": "Prompt contains 40001 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "type": "invalid_request_error", "code": "3051"}, "context"),
    Case("Mistral", 400, {"object": "error", "message": "Invalid model: mistral-huge", "type": "invalid_model", "code": "1500"}, "model"),
    Case("Mistral", 401, {"detail": "Unauthorized"}, "key"),
    Case("Mistral", 429, {"object": "error", "message": "Service tier capacity exceeded for this model.", "type": "service_tier_capacity_exceeded", "code": "3505"}, "rate_limit"),
    Case("Mistral", 503, {"object": "error", "message": "Service unavailable.", "type": "unreachable_backend", "code": "1100"}, "server"),
    # Groq
    Case("Groq", 400, openai("Parsing failed. The model generated output that could not be parsed.", code="output_parse_failed", failed_generation="invalid x-api-key, maximum context length"), "tool_call", text="invalid x-api-key, maximum context length"),
    Case("Groq", 413, openai("Request too large for model", "tokens", code="rate_limit_exceeded"), "context"),
    Case("Groq", 400, openai("Failed to generate JSON.", code="novel_failed", failed_generation="x"), "tool_call", text="x"),
    Case("Groq", 429, openai(GROQ_TPD, "tokens", code="rate_limit_exceeded"), "quota"),
    Case("Groq", 413, openai(GROQ_TPM, "tokens", code="rate_limit_exceeded"), "context"),
    Case("Groq", 400, openai("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]"), "parameter", "reasoning_content"),
    Case("Groq", 400, openai("property 'store' is unsupported, did you mean 'stop'?"), "parameter", "store"),
    Case("Groq", 400, openai("messages[1].reasoning: reasoning is not supported with this model"), "parameter", "reasoning"),
    Case("Groq", 400, openai("`tool calling` is not supported with this model"), "parameter", "tools"),
    Case("Groq", 400, openai("The model `mixtral-8x7b-32768` has been decommissioned and is no longer supported.", code="model_decommissioned"), "model"),
    Case("Groq", 498, openai("Flex tier capacity exceeded", "server_error", code="capacity_exceeded"), "rate_limit"),
    Case("Groq", 400, openai("Organization has been restricted. Please reach out to support if you believe this was in error.", code="organization_restricted"), "quota"),
    Case("Groq", 400, openai("'tools' : maximum number of items is 128"), "request"),
    # OpenRouter
    Case("OpenRouter", 200, openrouter(429, "Rate limit exceeded: free-models-per-min."), "rate_limit"),
    Case("OpenRouter", 200, openrouter(401, "No auth credentials found"), "key"),
    Case("OpenRouter", 200, openrouter(400, "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens."), "context"),
    Case("OpenRouter", 402, openrouter(402, "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 3395."), "quota"),
    Case("OpenRouter", 403, openrouter(403, "openai/gpt-4o requires moderation on OpenAI. Your input was flagged for \"violence\"."), "content_filter"),
    Case("OpenRouter", 404, openrouter(404, "No endpoints found that support tool use. To learn more, visit ..."), "parameter", "tools"),
    Case("OpenRouter", 404, openrouter(404, "No endpoints found that support the provided 'tool_choice' value."), "parameter", "tool_choice"),
    Case("OpenRouter", 403, openrouter(403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys"), "quota"),
    Case("OpenRouter", 403, openrouter(403, "The request is prohibited due to a violation of provider Terms Of Service."), "content_filter"),
    Case("OpenRouter", 404, openrouter(404, "No allowed providers are available for the selected model."), "model"),
    Case("OpenRouter", 404, openrouter(404, "No endpoints found for foo/bar."), "model"),
    Case("OpenRouter", 400, openrouter(400, "foo/bar is not a valid model ID"), "model"),
    Case("OpenRouter", 404, openrouter(404, "No endpoints available matching your guardrail restrictions and data policy."), "request"),
    Case("OpenRouter", 400, wrapped(400, openai("Rate limited", None, code=429)), "rate_limit"),
    Case("OpenRouter", 400, wrapped(400, openai("Failed to call a function. Please adjust your prompt.", code="tool_use_failed", failed_generation=GROQ_CALL), "Groq"), "tool_call", text=GROQ_CALL),
    Case("OpenRouter", 400, wrapped(400, openai("Unsupported parameter: 'seed' is not supported with this model.", param="seed", code="unsupported_parameter")), "parameter", "seed"),
    # DeepSeek, Moonshot, Qwen, Zhipu, MiniMax, SiliconFlow, Doubao
    Case("DeepSeek", 400, openai("Content Exists Risk", code="invalid_request_error"), "content_filter"),
    Case("DeepSeek", 400, openai("deepseek-reasoner does not support Function Calling"), "parameter", "tools"),
    Case("DeepSeek", 400, openai("deepseek-reasoner does not support this tool_choice"), "parameter", "tool_choice"),
    Case("DeepSeek", 400, openai("The `reasoning_content` in the thinking mode must be passed back to the API."), "parameter", "reasoning_content+"),
    Case("DeepSeek", 400, openai("Model Not Exist"), "model"),
    Case("DeepSeek", 400, openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"), "parameter", "max_tokens"),
    Case("DeepSeek", 200, choice(finish_reason="insufficient_system_resource", message={"content": "The"}), "server"),
    Case("Moonshot", 400, openai("invalid temperature: only 1 is allowed for this model"), "parameter", "temperature"),
    Case("Moonshot", 400, openai("tool_choice 'required' is incompatible with thinking enabled"), "parameter", "tool_choice"),
    Case("Moonshot", 429, openai("The engine is currently overloaded, please try again later", "engine_overloaded_error"), "server"),
    Case("Moonshot", 429, openai("Your account is suspended, please check your plan", "exceeded_current_quota_error"), "quota"),
    Case("Moonshot", 400, {"type": "error", "error": {"type": "<nil>", "message": "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2 (request id: 2026)"}}, "parameter", "reasoning_content+"),
    Case("Qwen", 400, openai("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", code="invalid_parameter_error"), "context"),
    Case("Qwen", 400, openai("Input data may contain inappropriate content.", "data_inspection_failed", code="data_inspection_failed"), "content_filter"),
    Case("Qwen", 400, openai("The tool call is not supported.", code="invalid_parameter_error"), "parameter", "tools"),
    Case("Qwen", 400, {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."}, "quota"),
    Case("Qwen", 429, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded, please try again later."}, "rate_limit"),
    Case("Zhipu", 400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}, "contentFilter": [{"level": 1, "role": "user"}]}, "content_filter"),
    Case("Zhipu", 400, {"error": {"code": "1261", "message": "Prompt 超长"}}, "context"),
    Case("Zhipu", 429, {"error": {"code": "1113", "message": "余额不足或无可用资源包,请充值。"}}, "quota"),
    Case("Zhipu", 429, {"error": {"code": "1302", "message": "您的账户已达到速率限制"}}, "rate_limit"),
    Case("Zhipu", 400, {"error": {"code": "1211", "message": "模型不存在，请检查模型代码。"}}, "model"),
    Case("MiniMax", 200, {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "quota"),
    Case("MiniMax", 200, {"choices": None, "base_resp": {"status_code": 1039, "status_msg": "token limit"}}, "context"),
    Case("A relay", 400, openai("输入内容过长，请减少 Prompt 中的 token 数量后重试", "prompt_limit"), "context"),
    # Together, Fireworks, Cohere, xAI, Cerebras, Hugging Face
    Case("Together", 422, openai("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 512 `max_new_tokens`"), "context"),
    Case("Together", 402, openai("Credit limit exceeded, please add credits", "credit_limit"), "quota"),
    Case("Together", 404, openai("Unable to access model foo/bar. Please visit https://api.together.ai/models", code="model_not_available"), "model"),
    Case("Fireworks", 400, openai("Extra inputs are not permitted, field: 'messages[1].reasoning_details', value: []"), "parameter", "reasoning_details"),
    Case("Fireworks", 412, openai("Account acme is suspended, possibly due to reaching the monthly spending limit"), "quota"),
    Case("Cohere", 400, {"message": "too many tokens: total number of tokens (prompt and prediction) cannot exceed 4096 - received 6354."}, "context"),
    Case("TGI", 424, {"error": "Template error: System role not supported", "error_type": "template_error"}, "parameter", "system"),
    Case("TGI", 422, {"error": "Tool error: Failed to parse generated text: EOF while parsing an object at line 1 column 60", "error_type": "tool_error"}, "tool_call"),
    Case("TGI", 424, {"error": "Request failed during generation: Server error: CUDA out of memory", "error_type": "generation"}, "server"),
    Case("xAI", 400, {"code": "Client specified an invalid argument", "error": "Argument not supported on this model: stop"}, "parameter", "stop"),
    Case("xAI", 400, {"code": "invalid-argument", "error": "Model grok-4.6 does not support parameter presencePenalty."}, "parameter", "presencePenalty"),
    Case("xAI", 400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***. You can obtain one at https://console.x.ai."}, "key"),
    Case("xAI", 403, {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}, "content_filter"),
    Case("Hugging Face", 400, openai("The requested model 'foo/bar' is not supported by any provider you have enabled.", code="model_not_supported"), "model"),
    Case("TGI", 422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", "error_type": "validation"}, "context"),
    Case("TGI", 422, {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"}, "parameter", "temperature"),
    Case("TGI", 422, {"error": "Input validation error: `max_new_tokens` must be <= 192. Given: 512", "error_type": "validation"}, "parameter", "max_tokens"),
    # servers of one's own
    Case("vLLM", 400, vllm("max_tokens must be at least 1, got -186."), "context"),
    Case("vLLM", 400, vllm('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'), "parameter", "tools"),
    Case("vLLM", 404, vllm("The model `foo` does not exist.", "NotFoundError", 404), "model"),
    Case("vLLM", 400, vllm("System role not supported"), "parameter", "system"),
    Case("vLLM", 400, vllm([extra("extra_forbidden", "body", "reasoning_details")]), "parameter", "reasoning_details"),
    Case("vLLM", 400, vllm("1 validation error for list[function-wrap[__log_extra_fields__()]]\n  Invalid JSON: EOF while parsing a string"), "tool_call"),
    Case("vLLM", 400, vllm("[{'type': 'extra_forbidden', 'loc': ('body', 'safe_prompt'), 'msg': 'Extra inputs are not permitted', 'input': 'content filter'}]"), "parameter", "safe_prompt"),
    Case("vLLM", 400, vllm("The decoder prompt (length 5000) is longer than the maximum model length of 4096."), "context"),
    Case("vLLM", 400, openai("max_tokens=9000 cannot be greater than max_model_len=4096. Please request fewer output tokens.", "BadRequestError", None, 400), "parameter", "max_tokens"),
    Case("vLLM", 200, choice(finish_reason="abort", message={"content": "The"}), "server"),
    Case("SGLang", 400, vllm("The input (61709 tokens) is longer than the model's context length (40960 tokens)."), "context"),
    Case("SGLang", 400, vllm("Failed to parse fc related info to json format!"), "tool_call"),
    Case("llama.cpp", 400, {"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}}, "context"),
    Case("llama.cpp", 500, {"error": {"code": 500, "message": "context shift is disabled", "type": "server_error"}}, "context"),
    Case("llama.cpp", 500, {"error": {"code": 500, "message": f"Failed to parse input at pos 395: {LFM_CALL}", "type": "server_error"}}, "tool_call", text=LFM_CALL),
    Case("llama.cpp", 500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}, "parameter", "tools"),
    Case("llama.cpp", 401, {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}}, "key"),
    Case("llama.cpp", 500, {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}, "context"),
    Case("llama.cpp", 500, {"error": {"code": 500, "message": "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...== 0) %}\u21b5 {{- raise_exception('After the optional system message, con...\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.", "type": "server_error"}}, "request"),
    Case("llama.cpp", 500, {"error": {"code": 500, "message": "Error: Jinja Exception: Only user, assistant and tool roles are supported, got system.", "type": "server_error"}}, "parameter", "system"),
    Case("llama.cpp", 501, {"error": {"code": 501, "message": "This server does not support chat completions.", "type": "not_supported_error"}}, "request"),
    Case("Ollama", 404, openai("model 'foo' not found, try pulling it first", "api_error"), "model"),
    Case("Ollama", 400, openai("registry.ollama.ai/library/gemma:7b does not support tools", "api_error"), "parameter", "tools"),
    Case("Ollama", 500, openai(f"error parsing tool call: raw='{OLLAMA_CALL}', err=unexpected end of JSON input", "api_error"), "tool_call", text=OLLAMA_CALL),
    Case("Ollama", 400, openai("json: unknown field \"reasoning_details\""), "parameter", "reasoning_details"),
    Case("Ollama", 400, {"error": "the input length exceeds the context length"}, "context"),
    Case("Ollama", 429, {"error": "you (ana) have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade"}, "quota"),
    Case("LM Studio", 400, {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}, "context"),
    Case("LM Studio", 404, openai("No models loaded. Please load a model in the developer page."), "model"),
    Case("LM Studio", 400, {"error": "Reached context length of 32000 tokens: token limit exceeded"}, "context"),
    Case("LM Studio", 200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, "request"),
    Case("LM Studio", 400, {"error": "Failed to parse tool call: Unexpected end of content"}, "tool_call"),
    Case("LM Studio", 401, openai("Malformed LM Studio API token provided", code="invalid_api_key"), "key"),
    Case("LM Studio", 400, {"error": "Error rendering prompt with jinja template: \"Only user and assistant roles are supported!\"."}, "parameter", "system"),
    Case("LM Studio", 400, {"error": "Error rendering prompt with jinja template: \"Unknown test: sequence\"."}, "request"),
    Case("LM Studio", 400, {"error": "The model has crashed without additional information. (Exit code: 18446744072635812000)"}, "server"),
    Case("LM Studio", 400, openai("Failed to load model \"qwen/qwen3-coder-30b\". Error: Operation canceled."), "server"),
    # gateways
    Case("LiteLLM", 500, openai("litellm.InternalServerError: InternalServerError: Custom_openaiException - Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]", None, None, "500"), "tool_call"),
    Case("LiteLLM", 400, openai("Budget has been exceeded! Current cost: 0.01, Max budget: 0.0", "budget_exceeded", None, "400"), "quota"),
    Case("LiteLLM", 403, openai("key not allowed to access model. This key can only access models=['haiku']. Tried to access sonnet", "key_model_access_denied", "model", "403"), "model"),
    Case("LiteLLM", 401, openai("team not allowed to access model. This team can only access models=['haiku']. Tried to access sonnet", "team_model_access_denied", "model", "401"), "model"),
    Case("LiteLLM", 408, openai("litellm.Timeout: APITimeoutError - Request timed out.", None, None, "408"), "server"),
    Case("Portkey", 446, {"error": {"message": "The guardrail checks defined in the config failed.", "type": "hooks_failed", "param": None, "code": None}}, "content_filter"),
    Case("A firewall", 403, "<!DOCTYPE html>\n<html lang='en'><head><title>Attention Required! | Cloudflare</title></head></html>", "request"),
    Case("A firewall", 403, "<html>\n<head><title>403 Forbidden</title></head>\n<body></body></html>", "request"),
    Case("A firewall", 403, {"error": {"message": "<HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD></HTML>"}}, "request"),
    *(Case("A firewall", 403, text, "request") for text in (
        "", "Forbidden", {"error": "Forbidden"}, {"detail": "Forbidden"}, "error code: 1020", "Access to this site is blocked by your organization",
        "Access denied: request blocked by network policy", "You don't have permission to access /v1/chat/completions on this server.",
        "RBAC: access denied", "User location is not supported for the API use.", "Sorry, you have been blocked",
    )),
    Case("Anthropic", 403, anthropic("forbidden", "Request not allowed"), "request"),
    Case("Groq", 403, {"error": {"message": "Access denied. Please check your network settings."}}, "request"),
    *(Case("A gateway", 403, {"detail": text}, "key") for text in (
        "Not authenticated", "Token is inactive", "Your subscription has expired", "Account suspended", "该令牌状态不可用", "Insufficient scope",
    )),
    Case("xAI", 403, {"code": "permission-denied", "error": "Access to the chat endpoint is denied. Please ensure you're using the correct credentials."}, "key"),
    Case("Gemini", 403, google(403, "PERMISSION_DENIED", "Generative Language API has not been used before or it is disabled."), "key"),
    Case("Bedrock", 403, {"message": "User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModel"}, "key"),
    Case("Alibaba", 403, {"code": "Model.AccessDenied", "message": "Model access denied."}, "model"),
    Case("A gateway", 403, {"error": "Prompt blocked by company policy"}, "content_filter"),
    Case("A proxy", 401, "<html><head><title>401 Authorization Required</title></head></html>", "key"),
    Case("A gateway", 500, {"error": True, "message": "upstream", "status_code": 429}, "rate_limit"),
    Case("A gateway", 400, {"errors": [{"message": "Unrecognized key(s) in object: 'reasoning_content'", "code": "unrecognized_keys"}]}, "parameter", "reasoning_content"),
    Case("A gateway", 425, "", "server"),
    Case("A gateway", 200, {"detail": "Not Found"}, "server"),
    Case("A gateway", 200, {"code": 500, "msg": "busy"}, "server"),
    Case("A gateway", 301, "", "request", headers={"Location": "https://user:sk-secret@Other.example:8443/v1"}),
    Case("OpenAI", 400, openai("This prompt is not allowed by the content policy; please stop sending it."), "content_filter"),
    Case("OpenAI", 400, openai("x", code="bio_policy"), "content_filter"),
    Case("OpenAI", 400, openai("Your request was rejected as a result of our safety system.", code="moderation_blocked"), "content_filter"),
    Case("Volcengine", 400, openai("The input text may contain sensitive information.", "BadRequest", code="InputTextSensitiveContentDetected"), "content_filter"),
    Case("Volcengine", 404, openai("The model or endpoint x does not exist or you do not have access to it.", "NotFound", code="InvalidEndpointOrModel.NotFound"), "model"),
    Case("NVIDIA", 404, {"status": 404, "title": "Not Found", "detail": "Function 'x': Not found for account 'y'"}, "model"),
    Case("New API", 500, openai("user sensitive words detected", "new_api_error", code="sensitive_words_detected"), "content_filter"),
    Case("New API", 403, openai("用户额度不足", "new_api_error", code="local:insufficient_quota"), "quota"),
    Case("New API", 403, openai("token quota is not enough", "new_api_error", code="insufficient_user_quota"), "quota"),
    Case("vLLM", 400, vllm("Conversation roles must alternate user/assistant/user/assistant/..."), "parameter", "system"),
    Case("Xinference", 400, {"detail": "length of prompt_tokens (41000) must be less than max_seq_len (32768)."}, "context"),
    Case("TensorRT-LLM", 400, vllm("The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)"), "context"),
    Case("Kimi", 400, openai("Missing `reasoning_content` field in the assistant message at message index 2."), "parameter", "reasoning_content+"),
    Case("OpenAI", 403, openai("x", code="misalignment_policy_violation"), "content_filter"),
    Case("OpenAI Responses", 400, openai("Encrypted content is not supported with this model.", param="include"), "parameter", "include"),
    # a model's own text, or the conversation, in an error about its form
    Case("vLLM", 400, vllm("1 validation error for ChatCompletionRequest\nmessages.2.content\n  Input should be a valid string [type=string_type, input_value={'x': 'flagged by the content filter'}, input_type=dict]"), "request"),
    Case("TGI", 422, {"error": "Template error: Invalid assistant message: role='assistant' content='The maximum context length is 5 tokens' tool_calls=None", "error_type": "template_error"}, "request"),
    Case("Mistral", 422, {"detail": [{"type": "string_type", "loc": ["body", "messages", 1, "content"], "msg": "Input should be a valid string", "input": ["Incorrect API key provided"]}]}, "request"),
    Case("OpenAI", 400, openai("Invalid value for 'content': expected a string, got '{\"error\": \"insufficient balance\"}'.", param="messages.[1].content"), "request"),
    Case("Anthropic", 400, anthropic("invalid_request_error", "messages.1.content: 'model foo not found' is not a valid content block"), "request"),
    Case("Gemini", 400, google(400, "INVALID_ARGUMENT", "Invalid value at 'contents[1].parts[0]' (text), content: \"This prompt is too long\""), "request"),
    Case("DeepSeek", 400, openai("Failed to deserialize the JSON body into the target type: messages[1]: invalid type: map `{\"q\": \"model gpt-9 does not exist\"}`, expected a string at line 1 column 40"), "request"),
    Case("DeepSeek", 400, openai("Invalid schema for function 'login': missing api key in the examples of property 'stop', which is not supported"), "request"),
    Case("OpenAI", 400, openai("Invalid value: 'function'. Supported values are: 'system', 'assistant', 'user', 'developer', and 'tool'.", param="messages[2].role", code="invalid_value"), "request"),
    Case("A gateway", 404, "POST /v1/models/foo/chat was not found on this server", "request"),
    Case("vLLM", 400, {"detail": [{"type": "less_than_equal", "loc": ["body", "temperature"], "msg": "Input should be less than or equal to 2"}]}, "request"),
    Case("A gateway", 400, openai("Number of stop sequences exceeds the limit of 4"), "request"),
    Case("A gateway", 403, openai("Token quota exceeded for this organization"), "quota"),
    # a length of the reply, not of the prompt
    Case("OpenAI", 400, openai("max_tokens is too large: 9999. This model supports at most 4096 completion tokens, whereas you provided 9999."), "parameter", "max_tokens"),
    Case("Mistral", 400, openai("max_tokens (10000) exceeds the maximum number of tokens allowed (8192)."), "parameter", "max_tokens"),
    Case("Cohere", 400, {"message": "invalid request: max_tokens must be less than or equal to 4096, the maximum output length for this model."}, "parameter", "max_tokens"),
    # a rate, whatever it is counted in and whatever else is said
    Case("OpenAI", 429, openai("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500. The context window of this model is not the limit."), "rate_limit"),
    Case("Anthropic", 429, anthropic("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit; reduce the prompt length or the maximum tokens requested, or try again later."), "rate_limit"),
    Case("Azure OpenAI", 429, {"error": {"code": "429", "message": "Too many requests: the content filter is busy. Please retry after 2 seconds."}}, "rate_limit", wait=2.0),
    Case("Bedrock", 400, {"__type": "ThrottlingException", "message": "Too many tokens, please wait before trying again. See the model's quota."}, "rate_limit"),
    # a fault of the server that names a filter, a key or a quota
    Case("Azure OpenAI", 503, openai("The content filter service is temporarily unavailable.", "server_error"), "server"),
    Case("OpenRouter", 502, openrouter(502, "Upstream error: the provider's API key service and its quota service are not available"), "server"),
    Case("Together", 500, openai("The model is not available: model not found in the cache of this node", "server_error"), "server"),
    Case("Anthropic", 401, anthropic("authentication_error", "Your key was disabled for a breach of our usage policy; the content filter flagged it."), "key"),
)  # fmt: skip

WORDINGS = {
    "context": (
        "Prompt too long", "The input is too large: 5000 tokens, limit 4096",
        "Number of tokens (5000) exceeds limit (4096)", "Maximum sequence length exceeded: 5000 > 4096",
        "context_length_exceeded", "context window is full", "ran out of context space",
        "Your conversation does not fit into the model's context window",
        "prompt has 9000 tokens, which exceeds max_position_embeddings",
        "Input length 9000 exceeds maximum length 4096",
        "The total number of tokens (prompt + completion) exceeds 8192", "输入内容过长，请缩短后重试", "请求超出模型的最大上下文",
    ),
    "content_filter": (
        "Your prompt was blocked by our safety system",
        "This request has been flagged for violating the content policy", "Request blocked by guardrail", "输入包含敏感内容",
    ),
    "tool_call": (
        "Could not parse tool call arguments", "Model generated invalid tool call",
        "tool call parsing error: unexpected end of input", "Error parsing function call generated by the model",
    ),
    "key": ("The API key you provided is invalid", "Missing API key",),
    "model": (
        "Unknown model: x", "Unsupported model: x", "模型不存在", "No such model", "The requested model is not available",
        "The model 'x' could not be found", "Model x is deprecated and no longer available",
        "model `x` is not supported",
    ),
    "quota": (
        "You have run out of credits", "Insufficient balance", "Spending limit reached", "Monthly quota exceeded",
        "You exceeded your current quota, please check your plan", "账户余额不足，请充值",
    ),
    "rate_limit": ("API rate limit exceeded", "Too many requests, slow down",),
    "parameter": (
        "Parameter 'seed' is not supported", "stop is not supported by this model",
        "temperature must be 1 for this model", "This model only supports temperature=1", "tool_choice must be auto",
        "Tool use is not supported", "Function calling is unavailable for this model",
        "System messages are not supported",
    ),
}  # fmt: skip
"""What servers of one's own say without any code, cause by cause."""
