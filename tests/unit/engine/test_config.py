"""Groups of the engine's configuration."""

from dataclasses import fields
from pathlib import Path

import pytest

from engine.config import CacheConfig, EngineConfig, ModelConfig

CONFIG = EngineConfig(model=ModelConfig(path=Path("model"), name="m"), cache=CacheConfig(tiers=None, secret=b"secret"))


def test_field_is_changed_by_its_name_in_whichever_group() -> None:
    changed = CONFIG.with_fields(dtype="float32", kv_memory=1, kind="npu", max_num_seqs=3)
    assert (changed.model.dtype, changed.cache.kv_memory) == ("float32", 1)
    assert (changed.device.kind, changed.scheduler.max_num_seqs) == ("npu", 3)
    assert (changed.model.name, changed.parallel, changed.speculation) == ("m", CONFIG.parallel, CONFIG.speculation)


def test_field_that_no_group_has_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="no field max_seqs"):
        CONFIG.with_fields(max_seqs=3)


def test_no_two_groups_have_a_field_of_one_name() -> None:
    names = [each.name for group in fields(CONFIG) for each in fields(getattr(CONFIG, group.name))]
    assert len(names) == len(set(names))
