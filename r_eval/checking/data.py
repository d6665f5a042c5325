"""Checks a published dataset: how many of its records are questions, and why the others are none."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from r_eval.checking.finding import Finding, counted
from r_eval.errors import UserError
from r_eval.tasks.loaders import Fault, format_of, formats, load
from r_eval.tasks.loaders.reading import lines

SUFFIXES = (".json", ".csv", ".tsv")


def is_data(path: Path) -> bool:
    """Whether a target is a dataset rather than a question file of our own, which is checked more closely."""
    if path.is_dir() or (path.is_file() and path.suffix in (".jsonl", *SUFFIXES)):
        try:
            return format_of(path) not in (None, "jsonl") or path.suffix in SUFFIXES
        except UserError:  # which the check itself says
            return True
    return False


def check_data(path: Path) -> list[Finding]:
    """What is found in a dataset, whose format is told from its first records; read as a stream.

    Raises:
        UserError: It cannot be read, or is of no format that is known.
    """
    name = format_of(path)
    if name is not None and "aliases" in _needed(name):
        text = f"of the format '{name}', which needs aliases: beside it"
        return [Finding(str(path), str(path), "note", text, "check the grid that names both")]
    data = load(path, name, samples=0, broken=1)
    target = str(path)
    findings = [
        Finding(target, fault.place, "warning", f"a broken record: {fault.why}", "mend it or leave it out")
        for fault in data.faults
    ]
    if data.broken > len(data.faults):
        shares = ", ".join(f"{number:,} {why}" for why, number in data.reasons.items())
        findings.append(
            Finding(
                target,
                target,
                "warning",
                f"{counted(data.broken, 'broken record')}: {shares}",
                "see the grid's broken:",
            )
        )
    levels = ", ".join(f"{number:,} {level}" for level, number in data.levels.items())
    text = (
        f"{counted(data.records, 'record')} of the format '{data.format}': {counted(data.asked, 'question')} ({levels})"
    )
    return [*findings, Finding(target, target, "note", "; ".join([text, *data.counts()]))]


def is_text(path: Path) -> bool:
    """Whether a target is a file of plain text, such as documents from which triples are extracted."""
    return path.is_file() and bool(re.search(r"\.(txt|md)($|_|\.)", path.name))


def check_text(path: Path) -> list[Finding]:
    """What is found in a text file, of which each line may be a document.

    Raises:
        UserError: It cannot be read.
    """
    target, number, hashes = str(path), 0, set[bytes]()
    findings = []
    for _, text in lines(path):
        if isinstance(text, Fault):
            findings.append(Finding(target, text.place, "error", text.why, "mend the line, or leave it out"))
            continue
        number += 1
        hashes.add(hashlib.blake2b(text.strip().encode(), digest_size=8).digest())
    said = f"{counted(number, 'line')} of text"
    if again := number - len(hashes):
        said += f", {again:,} of them repeats of another"
    return [*findings, Finding(target, target, "note", said)]


def _needed(name: str) -> list[str]:
    """The settings that a format cannot do without."""
    return [key for key, field in formats()[name].Settings.model_fields.items() if field.is_required()]
