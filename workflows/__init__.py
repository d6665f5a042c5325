"""Workflows: how an LLM is driven to an answer, one file per workflow. See `base` for the protocol."""
