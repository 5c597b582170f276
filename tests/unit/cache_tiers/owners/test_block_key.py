from dataclasses import replace

from cache_tiers.owners.block_key import KeyNamespace, extend_keys

SPACE = KeyNamespace(
    model_fingerprint="model",
    numerics="cpu",
    kv_dtype="bfloat16",
    block_size=4,
    layout_version=1,
    tp_rank=0,
    tp_size=1,
    tenant_salt=b"salt",
)


def test_keys_are_equal_up_to_first_differing_block() -> None:
    one = extend_keys(SPACE.root(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9], 4)
    two = extend_keys(SPACE.root(), [1, 2, 3, 4, 5, 6, 7, 0, 9, 9, 9, 9], 4)
    assert one[0] == two[0]
    assert one[1] != two[1]
    assert one[2] != two[2]


def test_partial_block_has_no_key() -> None:
    assert len(extend_keys(SPACE.root(), range(11), 4)) == 2


def test_every_property_of_kv_changes_every_key() -> None:
    changed = [
        replace(SPACE, model_fingerprint="other"),
        replace(SPACE, numerics="cuda"),
        replace(SPACE, kv_dtype="float32"),
        replace(SPACE, block_size=8),
        replace(SPACE, layout_version=2),
        replace(SPACE, tp_rank=1),
        replace(SPACE, tp_size=2),
        replace(SPACE, stages=(1, 1)),
        replace(SPACE, adapter="digest"),
        replace(SPACE, adapter="digest", stages=(1, 1)),
        replace(SPACE, tenant_salt=b"another tenant"),
    ]
    roots = {space.root() for space in [SPACE, *changed]}
    assert len(roots) == 1 + len(changed)


def test_fields_cannot_run_into_each_other() -> None:
    assert replace(SPACE, model_fingerprint="ab", numerics="c").root() != (
        replace(SPACE, model_fingerprint="a", numerics="bc").root()
    )


def test_keys_are_same_in_every_process_and_version() -> None:
    """Pin one key: blocks in Redis were stored by earlier versions, and a different key would make them unreachable."""
    assert (
        extend_keys(SPACE.root(), range(8), 4)[-1].hex()
        == "dce7e4e1321eb016e982d33d78d914d980f61b38d3e8e24242b0339578fa1eda"
    )
