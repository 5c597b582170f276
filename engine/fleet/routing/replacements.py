"""Replicas that do all of the work while no replica of the other role serves."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from engine.api.role import Role
from engine.fleet.routing.roles import Part, suits
from engine.loop.stats import ReplicaState

OTHER_PART: Final[Mapping[Role, Part]] = {"prefill": "answer", "decode": "prompt"}
"""Part of a request that a replica of this role leaves to others."""

NAMES: Final[Mapping[Part, str]] = {"prompt": "prompts", "answer": "answers"}

logger = logging.getLogger(__name__)


class Replacements:
    """Watch over the roles of the replicas that serve. Each change is logged once."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self._roles = roles
        self._serving = frozenset(roles)
        self._has_started = False

    def note(self, serving: Sequence[Role]) -> None:
        """Note the roles of the replicas that serve now. Nothing is logged before all of them served once."""
        self._has_started |= frozenset(serving) == frozenset(self._roles)
        if not self._has_started:
            return
        before, self._serving = self._serving, frozenset(serving)
        for role in sorted(self._serving & set(OTHER_PART)):
            was, now = _served(role, before), _served(role, self._serving)
            part = NAMES[OTHER_PART[role]]
            if now == "both" != was:
                logger.warning("no replica for %s serves: those with the role %s do both", part, role)
            elif was == "both" != now:
                logger.info("a replica for %s serves again: those with the role %s do their part", part, role)

    def shown(self, states: Sequence[ReplicaState]) -> tuple[ReplicaState, ...]:
        """Add what each replica computes now to the states of all replicas."""
        return tuple(replace(each, serves_as=_served(each.role, self._serving)) for each in states)


def _served(role: Role, serving: frozenset[Role]) -> Role:
    """Return what a replica of `role` computes while replicas of the roles `serving` serve."""
    part = OTHER_PART.get(role)
    return role if part is not None and any(suits(each, part) for each in serving) else "both"
