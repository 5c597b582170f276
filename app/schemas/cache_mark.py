"""Marks with which clients ask for a prefix of the prompt to be cached.

Every prompt is cached without them. A mark chooses the class in which the eviction policy measures the return of its
blocks (`cache_tiers.cpu.eviction`). If bytes of the disk are reserved for the tenant, a mark is also a promise of its
prefix for a time (docs/decisions/promises.md).

Sources: https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching, whose marks gateways pass on in messages
of other APIs, and https://developers.openai.com/api/docs/guides/prompt-caching.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationInfo

from app.schemas.parsing import IgnoredFields, RequestModel
from app.tenants.wanted_promise import WantedPromise

MAX_CACHE_KEY: Final = 1024

CacheKey = Annotated[str, Field(max_length=MAX_CACHE_KEY)]
"""OpenAI's name for requests that have a prefix in common, as `prompt_cache_key`. It marks the whole prompt."""


def _note_memory_alone(retention: str, info: ValidationInfo) -> str:
    """Note `in_memory` among the ignored fields, because KV reaches the disk whatever a request asks for."""
    if retention == "in_memory" and isinstance(info.context, IgnoredFields):
        info.context.add("prompt_cache_retention")
    return retention


CacheRetention = Annotated[str, AfterValidator(_note_memory_alone)]
"""OpenAI's `prompt_cache_retention`, the longest time for which a prompt is cached. Every name is accepted."""


OptionTtl = Literal["30m", "12h"]
"""OpenAI's times to live."""
_SECONDS: Final[Mapping[str, float]] = {"5m": 300.0, "30m": 1800.0, "1h": 3600.0, "12h": 43200.0}


class Mark(NamedTuple):
    """A mark on a part of the prompt.

    is_stated: whether the client named the time.
    seconds: time to live.
    """

    is_stated: bool
    seconds: float


class CacheMark(RequestModel):
    """Anthropic's mark."""

    ignored: ClassVar[frozenset[str]] = frozenset({"scope"})

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None

    @property
    def mark(self) -> Mark:
        """The mark, with five minutes if the client named no time."""
        return Mark(self.ttl is not None, _SECONDS[self.ttl or "5m"])


class Breakpoint(RequestModel):
    """OpenAI's mark."""

    mode: Literal["explicit"]
    ttl: OptionTtl | None = None

    @property
    def mark(self) -> Mark:
        """The mark, with half an hour if the client named no time."""
        return Mark(self.ttl is not None, _SECONDS[self.ttl or "30m"])


class CacheOptions(RequestModel):
    """OpenAI's options for the prompt cache.

    mode: `implicit` covers the whole prompt with `ttl`, `explicit` only the breakpoints.
    ttl: time for which the prompt's KV is promised.
    """

    mode: Literal["implicit", "explicit"] | None = None
    ttl: OptionTtl | None = None

    @property
    def mark(self) -> Mark | None:
        """The mark of the whole prompt; None without a time."""
        return Mark(is_stated=True, seconds=_SECONDS[self.ttl]) if self.ttl is not None else None


class Markable(RequestModel):
    """A part of a request that may have a mark, which covers the prompt up to the end of the part."""

    cache_control: CacheMark | None = None

    @property
    def mark(self) -> Mark | None:
        """The mark of the part; None without one."""
        return self.cache_control.mark if self.cache_control is not None else None

    @property
    def is_marked(self) -> bool:
        """Whether the part has a mark."""
        return self.mark is not None


def longest(marks: Iterable[Mark | None]) -> Mark | None:
    """Return the longest mark, one with a stated time before all others; None if there is none."""
    return max((mark for mark in marks if mark is not None), default=None)


def wanted_promise(share: float, marks: Iterable[Mark | None]) -> WantedPromise | None:
    """Return the promise of `share` of the prompt for the longest of its marks; None without marks."""
    mark = longest(marks)
    return WantedPromise(share, mark.seconds, mark.is_stated) if mark is not None and share else None


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
