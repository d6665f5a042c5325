"""Writes the list of types in docs/records.md from the models in `r_eval.records`.

    python docs/record_types.py

The list stands between two marks in the page. A test compares the two, so that neither can change alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from r_eval.records import Document, Episode, Outcome, Question, Seconds, SentMessage, Step, Tokens, Usage

PAGE = Path(__file__).with_name("records.md")
BEGIN, END = "<!-- types: python docs/record_types.py -->\n", "<!-- end of types -->\n"
MODELS: tuple[type[BaseModel], ...] = (Question, Document, Episode, Outcome, SentMessage, Step, Tokens, Usage, Seconds)


def listing() -> str:
    """The fields of all records with their types, as a block of Markdown."""
    lines = ["```text"]
    for model in MODELS:
        types = model.model_json_schema(by_alias=True)["properties"]
        lines.append(model.__name__)
        for name, field in model.model_fields.items():
            key = field.alias or name
            optional = "" if field.is_required() else "?"
            lines.append(f"  {key}{optional}: {_type(types[key])}")
    return "\n".join([*lines, "```"]) + "\n"


def page() -> str:
    """The page as it should be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{listing()}\n{END}{rest.partition(END)[2]}"


def _type(schema: dict[str, Any]) -> str:
    """A JSON Schema in one word."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return "|".join(_type(option) for option in schema["anyOf"])
    if "enum" in schema:
        return "|".join(json.dumps(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list[{_type(schema['items'])}]"
    return str(schema.get("type", "any"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
