"""Carrying out a grid: `plan` resolves names, `episode` runs one episode, `run` runs them all and keeps them."""
