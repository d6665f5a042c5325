"""LLMs: one protocol, several backends. See `base` for the protocol and `make` for building one from a grid's name."""
