"""`r-eval cache explain`: how many calls of a run came from the cache, and why the others did not."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import sys
from pathlib import Path

from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.llms.cache import ReplyCache, cache_file
from r_eval.llms.explain import explain
from r_eval.runner.store import name_in_cache


def explain_command(path: Path, as_json: bool) -> None:
    """Print what the cache gave to a run, and what was different where it gave nothing."""
    folder = RunFolder(path)
    manifest = folder.manifest()
    if not cache_file().exists():
        raise UserError(f"there is no cache at {cache_file()} yet; a run whose temperature is 0 makes it")
    cache = ReplyCache("")
    try:
        misses = explain(cache.store, name_in_cache(folder, manifest.get("created", "")))
    except (sqlite3.Error, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{cache.path} is damaged ({error}): delete it; runs go on without it") from None
    finally:
        cache.close()
    spent = manifest.get("spent", {})
    if as_json:
        record = {"cache": str(cache.path), "spent": spent, "misses": [dataclasses.asdict(m) for m in misses]}
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
        return
    lines = [f"Cache: {cache.path}"]
    for name, of in spent.items():
        lines.append(f"{name}: {of.get('cached', 0):,} replies from the cache, {of.get('calls', 0):,} made")
    for miss in misses:
        lines.append(f"{miss.calls:,} made and kept for the next time; the nearest reply kept before differs in:")
        lines += [f"  {difference}" for difference in miss.differences]
        if not miss.differences:
            lines[-1] = f"{miss.calls:,} made and kept for the next time; nothing like them had been kept before"
    if not misses:
        lines.append("No reply of this run was made and kept.")
    sys.stdout.write("\n".join(lines) + "\n")
