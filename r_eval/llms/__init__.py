"""LLMs: one protocol, several backends. See `base` for the protocol and for `make_llm`."""
