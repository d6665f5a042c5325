"""Invents the scholar world that comes with R-Eval."""
