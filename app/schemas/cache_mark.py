"""Marks with which clients ask for a prefix of the prompt to be cached.

Every prompt is cached without them. A mark chooses the class in which the eviction policy measures the return of its
blocks (`cache_tiers.cpu.eviction`), and nothing else.

Sources: https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching, whose marks gateways pass on in messages
of other APIs, and https://developers.openai.com/api/docs/guides/prompt-caching.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from app.schemas.parsing import RequestModel

MAX_CACHE_KEY: Final = 1024

CacheKey = Annotated[str, Field(max_length=MAX_CACHE_KEY)]
"""OpenAI's name for requests that have a prefix in common, as `prompt_cache_key`. It marks the whole prompt."""


class CacheMark(RequestModel):
    """Anthropic's mark. The time to live has no effect: the eviction policy measures what is worth keeping."""

    ignored: ClassVar[frozenset[str]] = frozenset({"ttl", "scope"})

    type: Literal["ephemeral"]


class Breakpoint(RequestModel):
    """OpenAI's mark."""

    ignored: ClassVar[frozenset[str]] = frozenset({"ttl"})

    mode: Literal["explicit"]


class Markable(RequestModel):
    """A part of a request that may have a mark, which covers the prompt up to the end of the part."""

    cache_control: CacheMark | None = None

    @property
    def is_marked(self) -> bool:
        """Whether the part has a mark."""
        return self.cache_control is not None


def marked_share(parts: Iterable[tuple[int, bool]]) -> float:
    """Return the share of a prompt, from its beginning, that is covered by marks: 0 to 1.

    The share in characters stands for the one in tokens. An error moves a few blocks to the other class.

    parts: the number of characters of each part of the prompt, in order, and whether it is marked.
    """
    size = covered = 0
    for length, is_marked in parts:
        size += length
        covered = size if is_marked else covered
    return covered / size if size else 0.0
