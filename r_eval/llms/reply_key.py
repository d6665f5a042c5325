"""What is kept of a reply, and its key: a hash of everything that decides it."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from r_eval.llms.base import Message, Reply, Request, ToolSpec


class ReplyKey(NamedTuple):
    """What a reply is found by.

    Attributes:
        own: Hash of the request, the episode and its run.
        shared: Hash of the request alone; None where its reply is private.
    """

    own: bytes
    shared: bytes | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A reply, with the seconds that the call took when it was made, and the episode that made it."""

    reply: Reply
    seconds: float
    owner: bytes = b""

    def to_json(self) -> bytes:
        """Reply and seconds as JSON; in ASCII where UTF-8 cannot hold them (half a surrogate pair)."""
        pair = (self.reply, self.seconds)
        try:
            return _pair.dump_json(pair)
        except PydanticSerializationError:
            return json.dumps(_pair.dump_python(pair), default=str).encode()

    @classmethod
    def from_json(cls, data: bytes, owner: bytes) -> Kept:
        """Read what `to_json` wrote.

        Raises:
            ValueError, RecursionError: It is something else.
        """
        try:
            pair = _pair.validate_json(data)
        except ValueError:  # pydantic's reader refuses half a surrogate pair, Python's takes it
            pair = _pair.validate_python(json.loads(data))
        return cls(*pair, owner)


_pair: TypeAdapter[tuple[Reply, float]] = TypeAdapter(tuple[Reply, float], config={"ser_json_inf_nan": "constants"})


class RequestKeys:
    """The keys of the requests of one episode.

    Args:
        identity: What decides the LLM's replies besides the request.
        owner: The episode's.
    """

    def __init__(self, identity: Mapping[str, object], owner: bytes, epoch: int) -> None:
        self._owner = owner
        self._start = _digest(json.dumps(identity, sort_keys=True, default=str), str(epoch))
        self._messages: dict[int, tuple[bytes, Message]] = {}
        self._tools: tuple[tuple[ToolSpec, ...], str] = ((), "")
        self._times: collections.Counter[bytes] = collections.Counter()

    def key(self, request: Request) -> ReplyKey:
        """The key of the next call; the same request made twice has two keys."""
        if request.tools is not self._tools[0]:
            tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
            self._tools = (request.tools, json.dumps(tools, default=str) if tools else "")
        rest = json.dumps([request.tool_choice, request.stop, request.max_tokens, request.seed])
        conversation = b"".join(self._message_digest(message) for message in request.messages)
        same = _digest(self._start, conversation, self._tools[1], rest)
        self._times[same] += 1
        shared = _digest(same, str(self._times[same]))
        return ReplyKey(_digest(shared, self._owner), shared)

    def _message_digest(self, message: Message) -> bytes:
        """Hash of a message, made once however often it is sent."""
        known = self._messages.get(id(message))  # which stays taken: the message is held on to
        if known is None:
            texts = (message.role, message.content, message.call_id, message.name, message.reasoning)
            calls = [(call.id, call.name, call.arguments, call.error, call.extra) for call in message.tool_calls]
            further = json.dumps([calls, message.extra], default=str) if calls or message.extra else ""
            known = self._messages[id(message)] = (_digest(*texts, further), message)
        return known[0]


def episode_owner(run: str, episode_id: str, scope: str) -> bytes:
    """Whose replies those of an episode of a run are; `scope` is the fingerprint of its cell."""
    return _digest(run, episode_id, scope)


def _digest(*parts: str | bytes) -> bytes:
    """Hash of several texts; where one ends and the next begins counts."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()
