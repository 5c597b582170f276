"""Figures of an agent's requests, as the server logs them."""

import asyncio
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

LOG_SECONDS: Final = 20.0
"""Seconds within which the line of an ended request must be in the log."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of prompts by the source of their KV."""

    prompt: int = 0
    device: int = 0
    cpu: int = 0
    redis: int = 0
    computed: int = 0

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> Self:
        """Read the figures of a request's log line."""
        by_source = {each.name: line[each.name] for each in fields(cls) if each.name != "prompt"}
        return cls(prompt=line["prompt_tokens"], **by_source)

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def share(self) -> float:
        """Share of the prompts that came from a tier."""
        return 1 - self.computed / self.prompt if self.prompt else 0.0


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation.

    after_kill: whether the server was killed right before the turn.
    requests: number of the requests that belong to the conversation.
    background: number of the other requests that have a prompt, such as for a title.
    background_tokens: the tokens of their prompts.
    """

    number: int
    after_kill: bool
    requests: int
    tokens: Tokens
    background: int = 0
    background_tokens: Tokens = Tokens()


@dataclass(frozen=True, slots=True)
class Result:
    """Conversations of one client with one server.

    arm: name of the server's settings.
    next: the first turn of a second conversation about the same project.
    """

    client: str
    version: str
    arm: str
    turns: tuple[Turn, ...]
    next: Turn

    @property
    def later(self) -> Tokens:
        """The tokens of all turns but the first, which has nothing to reuse."""
        return sum((turn.tokens for turn in self.turns[1:]), Tokens())

    @property
    def least_share(self) -> float:
        """The lowest share of a turn after the first."""
        return min(turn.tokens.share for turn in self.turns[1:])


class MissingFiguresError(Exception):
    """The log lacks the line of a request."""


async def logged(log: Path, request_ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return the log lines of the requests by their ids, once all of them have ended. Raise MissingFiguresError.

    log: log of the server with `--log-format json --log-level debug`.
    """
    deadline = time.monotonic() + LOG_SECONDS
    while True:
        found = _lines(log, request_ids)
        if len(found) == len(request_ids):
            return found
        if time.monotonic() > deadline:
            missing = ", ".join(sorted(set(request_ids) - set(found)))
            raise MissingFiguresError(f"the server's log has no line of {missing}")
        await asyncio.sleep(0.05)


def _lines(log: Path, request_ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return the facts of the requests that have ended. The figures of a response are in the line of its run."""
    found: dict[str, dict[str, Any]] = {}
    ended = set[str]()
    for text in log.read_text(errors="replace").splitlines():
        if text.startswith("{"):
            line = json.loads(text)
            request_id = line.get("request_id")
            if line["message"] in ("request", "run") and request_id in request_ids:
                found.setdefault(request_id, {}).update(line)
                if line["message"] == "run" or line.get("route") != "/v1/responses":
                    ended.add(request_id)
    return {request_id: found[request_id] for request_id in ended}
