"""Marks with which clients ask for a prompt to be cached: Anthropic's `cache_control`.

Gateways pass the marks on in messages of other APIs. Source:
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching.
"""

from typing import ClassVar, Literal

from app.schemas.parsing import RequestModel


class CacheMark(RequestModel):
    """A mark. Its time to live has no effect: blocks stay for as long as the eviction policy keeps them."""

    ignored: ClassVar[frozenset[str]] = frozenset({"ttl", "scope"})

    type: Literal["ephemeral"]


class Markable(RequestModel):
    """A part of a request that may have a mark. Every prompt is cached, with or without one."""

    cache_control: CacheMark | None = None
