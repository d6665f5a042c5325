"""A domain that is whole, and a way to write one that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.scaffold import new_domain

HEAD = """
import asyncio, contextlib, datetime, itertools, json, logging, math, random, sqlite3, sys, threading, time
from dataclasses import dataclass
from typing import Any, Literal
from r_eval.environments.base import Environment, EnvironmentFailure, NotFound, TemporaryFailure, query_api

DISHES = {"d1": "pizza", "d2": "omelette", "d3": "hummus"}
COUNT = itertools.count()

class Bad(Environment):
"""
SHOW = '''
    @query_api
    def show(self, dish_id: str) -> str:
        """Show a dish.

        Args:
            dish_id: Its id.
        """
        if dish_id not in DISHES:
            raise NotFound(f"no dish {dish_id}")
        return DISHES[dish_id]
'''
RECORDS = """
    def records(self, kind: str) -> list[dict[str, Any]]:
        if kind != "dish":
            raise KeyError(kind)
        return [{"id": i, "name": name} for i, name in DISHES.items()]
"""


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    """The folder of a new domain."""
    return new_domain("recipes", tmp_path / "recipes")


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., str]:
    """Writes `Bad`, an environment with the given body, and gives its name."""

    def write(body: str, doc: str = '    """Dishes."""', records: str = RECORDS) -> str:
        (tmp_path / "bad.py").write_text(HEAD + doc + "\n" + body + records, encoding="utf-8")
        return f"{tmp_path / 'bad.py'}:Bad"

    return write
