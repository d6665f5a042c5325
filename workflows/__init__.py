"""Workflows: how an LLM is led to an answer, one file a workflow. See `base` for the protocol."""
