"""Sessions of the clients of a server, by an id that the client keeps; those used longest ago make room."""

from __future__ import annotations

import collections
import secrets

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session

UNCUT = 10**9
"""Tokens of an observation that is never cut: whoever shows it to a model does that."""


MOST_SESSIONS = 1000
"""Open at a time; a client that comes back after its own was closed gets a new one."""


class Sessions:
    """Open sessions of one environment."""

    def __init__(self, environment: Environment) -> None:
        self._environment, self._sandbox = environment, Sandbox()
        self._sessions: collections.OrderedDict[str, Session] = collections.OrderedDict()

    def of(self, client: str | None) -> tuple[str, Session]:
        """The id and the session of a client; one without id gets both."""
        key = client or secrets.token_urlsafe(16)
        if key not in self._sessions:
            self._sessions[key] = Session(self._environment, self._sandbox, tokens=UNCUT)
        self._sessions.move_to_end(key)
        while len(self._sessions) > MOST_SESSIONS:
            self.drop(next(iter(self._sessions)))
        return key, self._sessions[key]

    def drop(self, client: str) -> None:
        """Close the session of a client, if it has one."""
        if session := self._sessions.pop(client, None):
            session.close()

    def close(self) -> None:
        """Close all."""
        for client in list(self._sessions):
            self.drop(client)
