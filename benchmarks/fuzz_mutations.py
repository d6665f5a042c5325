"""How `benchmarks.fuzz` changes what is good: bytes, what a YAML or JSON file says, and made-up text of a model."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.hostile import HOSTILE

ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**63,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    [],
    {},
    [[]],
    {"": ""},
    [None],
    {"a": {"b": []}},
    "../../x",
    "/etc/passwd",
    "a:b",
    "x" * 5000,
)
PIECES = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"{",
    b"[",
    b'"',
    b"\n",
    b"\r",
    b": ",
    b"- ",
    b"&a *a",
    b"<<: *a",
    b"!!python/object:os.system",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"1e999",
    b"NaN",
    b"null",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"9" * 5000,
    b"\t",
    b"#",
    b"%",
    b"\x85",
    b"\xe2\x80\xa8",
)
CALLS = (
    "Action: Search[Kenya]",
    'Action: searchPerson(name="Ada")',
    "Finish[x]",
    "<tool_call>",
    "</tool_call>",
    "```python\n",
    "```",
    "```json\n",
    '{"name": "Search", "arguments": {"entity": "Kenya"}}',
    '{"name": "searchPerson", "arguments": {"name": ["a"]}}',
    "<function=Search>",
    "<parameter=entity>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|tool_call|>",
    "functools[",
    'Search("Kenya")',
    "Action Input: ",
    "Thought: ",
    "Answer: ",
    "答案：",
    "<response>",
    "</response>",
    "answer = 1\n",
    "Lookup[",
    "(",
    ")",
    "]",
    '"',
    "'",
    "\\",
    "=",
    ",",
    "\n",
    " ",
    "<think>",
)


def bytes_changed(chance: random.Random, data: bytes, suffix: str = "") -> bytes:
    """The bytes, with one to four changes."""
    for _ in range(chance.randint(1, 4)):
        size = len(data)
        at, other = sorted(chance.randint(0, size) for _ in "ab")
        match chance.randrange(6):
            case 0 if size:
                spot = min(at, size - 1)
                data = data[:spot] + bytes([data[spot] ^ 1 << chance.randrange(8)]) + data[spot + 1 :]
            case 1:
                data = data[:at]
            case 2:
                data = data[:at] + data[min(other, at + 200) :]
            case 3:
                data = data[:other] + data[at : min(other, at + 200)] + data[other:]
            case 4:
                data = data[:at] + chance.choice(PIECES) + data[at:]
            case _:
                data = data[:at] + chance.randbytes(chance.randint(1, 8)) + data[at:]
    return data


def tree_changed(chance: random.Random, data: bytes, suffix: str) -> bytes:
    """A YAML, JSON or JSON Lines file with one to three of its values changed; another is changed in its bytes."""
    if suffix == ".jsonl":
        lines = data.splitlines(keepends=True) or [b"{}\n"]
        spot = chance.randrange(len(lines))
        return b"".join([*lines[:spot], _dumped(_changed(chance, json.loads(lines[spot]))), b"\n", *lines[spot + 1 :]])
    if suffix == ".json":
        return _dumped(_changed(chance, json.loads(data)))
    if suffix in (".yaml", ".yml"):
        made = _changed(chance, yaml.safe_load(data))
        try:
            return yaml.safe_dump(made, sort_keys=False, allow_unicode=True).encode("utf-8", "surrogatepass")
        except (yaml.YAMLError, ValueError):
            return _dumped(made)
    return bytes_changed(chance, data)


def text_made(chance: random.Random, path: Path) -> Path:
    """A reply of a model, of pieces of calls, texts that mean harm, and noise."""
    count = chance.randint(1, 12)
    pieces = [chance.choice(CALLS if chance.random() < 0.8 else HOSTILE) for _ in range(count)]
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    path.write_bytes(bytes_changed(chance, data) if chance.random() < 0.4 else data)
    return path


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _changed(chance: random.Random, tree: Any) -> Any:
    tree = copy.deepcopy(tree)
    for _ in range(chance.randint(1, 3)):
        spots = list(_spots(tree))
        if not spots:
            return chance.choice(ODD)
        holder, key = chance.choice(spots)
        match chance.randrange(5):
            case 0:
                del holder[key]
            case 1:
                holder[key] = chance.choice(HOSTILE)
            case 2 if isinstance(holder, dict):
                holder[chance.choice(HOSTILE)] = holder.pop(key)
            case 3:
                other, name = chance.choice(spots)
                try:
                    holder[key] = copy.deepcopy(other[name])
                except (KeyError, IndexError):
                    continue
            case _:
                holder[key] = copy.deepcopy(chance.choice(ODD))
    return tree


def _spots(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree whose value can be changed."""
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            yield holder, key
            if isinstance(value, dict | list):
                waiting.append(value)
