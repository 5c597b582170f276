"""Namespaces of the models' KV, in their file."""

from pathlib import Path

import pytest

from app.host.kv_namespaces import KVNamespaces
from app.host.on_demand import OnDemandModel
from cache_tiers.owners.block_key import KeyNamespace
from engine.api.stored_tokens import Trail
from engine.intake.prefix_keys import PrefixKeys, TenantSalts
from models.adapters.adapter import Adapter
from tests.unit.app.host.model_table import Models

SALTS = TenantSalts(b"a secret of the tests")
NAMESPACE = KeyNamespace(
    model_fingerprint="ant",
    numerics="cpu",
    kv_dtype="bfloat16",
    block_size=4,
    layout_version=1,
    tp_rank=0,
    tp_size=1,
    tenant_salt=b"",
    stages=(2, 1),
)


def test_next_process_names_the_blocks_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model-kv.json"
    adapter = Adapter("poet", "12ab", changes_kv=True, invocation=(33, 34))
    keys = PrefixKeys(NAMESPACE, SALTS, range(8), adapters=[adapter])
    KVNamespaces(path, SALTS).note("ant", keys)
    known = KVNamespaces(path, SALTS)
    again = known.keys_of("ant")
    trails = [Trail(list(range(20)), ends=(18,)), Trail(list(range(30, 40)))]
    assert again is not None
    assert again.of_trails(trails, "alice") == keys.of_trails(trails, "alice") != []
    assert known.keys_of("bee") is None


@pytest.mark.parametrize("text", ["", "[]", '{"ant": {"namespace": {}}}', '{"ant": 1}'])
def test_file_that_cannot_be_used_names_no_model(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model-kv.json"
    path.write_text(text)
    known = KVNamespaces(path, SALTS)
    assert known.keys_of("ant") is None
    known.note("ant", PrefixKeys(NAMESPACE, SALTS))
    assert KVNamespaces(path, SALTS).keys_of("ant") is not None


async def test_model_names_its_blocks_before_it_is_loaded_again(tmp_path: Path) -> None:
    models, keys = Models(("ant", "bee")), PrefixKeys(NAMESPACE, SALTS)
    known = KVNamespaces(tmp_path / "model-kv.json", SALTS)
    known.note("bee", keys)
    bee, never_loaded = (OnDemandModel(models.table, models[name], SALTS, known) for name in ("bee", "ant"))
    trails = [Trail(list(range(20)))]
    assert await bee.keys_of_trails(trails, tenant="alice") == keys.of_trails(trails, "alice") != []
    assert await never_loaded.keys_of_trails(trails, tenant="alice") == []
    await models.table.stop(0.0)
