"""What batching saves `hf/` on the device at hand: chat prompts sent one at a time, then many at once.

The same model answers the same prompts of different lengths, greedily, through connections of 1, 4, 16 and 64. Printed
are reply tokens a second, how many times that is of one at a time, and how many replies are the same as alone: all of
them in single precision, fewer in half precision, where padding moves the last bits of a probability.

    python benchmarks/hf_gpu.py [--model hf/smollm2-135m] [--dtype auto] [--prompts 64] [--tokens 48]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence

from r_eval.llms.base import LLM, Message, Reply, Request, make_llm
from r_eval.llms.hf import HF

CONNECTIONS = (4, 16, 64)
THINGS = "rivers mountains bread violins trains spiders glass rain bees clocks islands salt bridges wolves paper moss"
NOTE = "Here is a note. " + "People have long been fond of THING, and nobody knows why. " * 6 + "Sum it up."
ASKED = (
    "Write a sentence about THING.",
    "What is known about THING? Answer briefly.",
    "List five words that go with THING, one a line.",
    NOTE,
)


def requests(prompts: int, tokens: int) -> list[Request]:
    """Prompts of about 15 to 120 tokens; the lengths take turns."""
    things = THINGS.split()
    texts = [ASKED[i % 4].replace("THING", things[i // 4 % len(things)]) for i in range(prompts)]
    return [Request((Message("user", text),), max_tokens=tokens) for text in texts]


async def send(llm: LLM, asked: Sequence[Request]) -> tuple[list[Reply], float]:
    """The replies, and the tokens a second of them all."""
    gate = asyncio.Semaphore(llm.connections)

    async def one(request: Request) -> Reply:
        async with gate:
            return await llm.generate(request)

    started = time.perf_counter()
    replies = await asyncio.gather(*map(one, asked))
    return replies, sum(reply.tokens.completion for reply in replies) / (time.perf_counter() - started)


async def main(model: str, dtype: str, prompts: int, tokens: int) -> None:
    llm = make_llm(model, {"dtype": dtype, "batch": 1})
    if not isinstance(llm, HF):
        raise SystemExit(f"{model} is no model of hf/")
    await llm.open()
    try:
        asked = requests(prompts, tokens)
        await send(llm, asked[:2])  # what a device sets up at its first use is nobody's speed
        alone, one_at_a_time = await send(llm, asked)
        print(f"{model}, {prompts} prompts, up to {tokens} tokens each, dtype {dtype}")
        print(f"{'one at a time':<16} {one_at_a_time:9.1f} tokens/s", flush=True)
        for connections in CONNECTIONS:
            llm.batch = llm.connections = connections
            replies, speed = await send(llm, asked)
            same = sum(reply.text == before.text for reply, before in zip(replies, alone, strict=True))
            ratio = speed / one_at_a_time
            print(f"{connections:>2} at once       {speed:9.1f} tokens/s  {ratio:5.1f} times  {same} replies the same")
    finally:
        await llm.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="hf/smollm2-135m")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=48, help="the longest reply")
    asyncio.run(main(**vars(parser.parse_args())))
