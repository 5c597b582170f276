"""Roles of replicas: some compute prompts, and hand the answers over to others after the first token."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from engine.api.errors import EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.role import Role
from engine.config import EngineConfig

Part = Literal["prompt", "answer"]
"""Part of a request that a replica is chosen for.

prompt: compute the prompt, and possibly the answer.
answer: continue an answer that another replica handed over.
"""

ALONE: Final[Mapping[Role, str]] = {"decode": "prompts", "prefill": "answers"}
"""Work that is left undone if all replicas have one role."""


def suits(role: Role, part: Part) -> bool:
    """Return whether a replica with this role computes this part."""
    return role == "both" or (role == "prefill") == (part == "prompt")


def check_roles(roles: Sequence[Role], count: int, config: EngineConfig) -> None:
    """Raise EngineError for roles that `count` replicas cannot have. No roles are the role "both" for all."""
    if not roles:
        return
    if len(roles) != count:
        raise EngineError(f"--replica-roles has {len(roles)} roles for {count} replicas: name one for each replica")
    for missing, part in ALONE.items():
        if all(role == missing for role in roles):
            raise EngineError(
                f"--replica-roles: no replica computes {part}, since all have the role {missing}. Give one of them "
                "another role."
            )
    if not config.cache.prefix_cache or config.cache.tiers is None or config.cache.tiers.redis_url == "off":
        raise EngineError(
            "--replica-roles: answers are handed over through Redis, which is off. Remove --redis-url off and "
            "--no-prefix-cache, or --replica-roles."
        )


def with_roles(configs: Sequence[EngineConfig], roles: Sequence[Role]) -> list[EngineConfig]:
    """Give each replica its role. No roles are the role "both" for all."""
    return [each.with_fields(role=role) for each, role in zip(configs, roles, strict=True)] if roles else list(configs)


def may_be_handed_over(request: GenerateRequest) -> bool:
    """Return whether the request leaves blocks that another replica can find."""
    return request.keep_kv and request.params.pooling is None and request.params.prompt_logprobs is None
