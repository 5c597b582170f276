"""Registration of a tier that keeps its values in a dictionary."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.openapi import openapi_document
from cache_tiers import registry
from cache_tiers.testing import DictKind
from cache_tiers.tier import Tier


@contextmanager
def registered(tier: Tier) -> Iterator[DictKind]:
    """Register a tier after all others, and describe responses with it."""
    kind = DictKind(tier)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "LOWER_TIERS", (*registry.LOWER_TIERS, kind))
        openapi_document.cache_clear()
        yield kind
    openapi_document.cache_clear()
