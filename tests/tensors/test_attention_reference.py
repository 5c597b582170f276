import pytest
import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout
from engine.attention.backend import AttentionMetadata, AttentionSpec, kv_shapes
from engine.attention.reference import ReferenceAttention
from models.interface.attention_call import AttentionCall, plain_calls
from models.interface.dense_context import DenseContext
from tests.tensors.paged_history import Life, PagedHistory


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Use one thread: for small tensors, more threads would only wait for each other."""
    torch.set_num_threads(1)


def test_a_whole_prompt_equals_dense_causal_attention() -> None:
    generator = torch.Generator().manual_seed(1)
    q, k, v = torch.randn((37, 15, 64), generator=generator).split((9, 3, 3), dim=1)
    blocks = [4, 1, 6]
    slots = torch.tensor([blocks[p // 16] * 16 + p % 16 for p in range(37)])
    spec = AttentionSpec("cpu", torch.float32, plain_calls(2, 9, 3, 64), 16)
    layout = BlockLayout(kv_shapes(spec.calls), 16, 4)
    backend = ReferenceAttention(spec, KVPool(torch.full((8 * layout.elements,), float("nan")), layout))
    context = backend.begin_step(AttentionMetadata((37,), (37,), (blocks,), slots))
    torch.testing.assert_close(context.attention(1, q, k, v), DenseContext(spec.calls).attention(1, q, k, v))


def test_stale_slots_of_a_recycled_block_never_show() -> None:
    spec = AttentionSpec("cpu", torch.float32, plain_calls(1, 4, 2, 16), 16)
    history = PagedHistory(spec, ["reference"], blocks=8)
    life = Life()
    for count in (5, 1, 30, 1):
        assert history.step([(life, count)])["reference"][0].isfinite().all()


@pytest.mark.parametrize(
    "call",
    [
        AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, window=7),
        AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, chunk=8),
        AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, softcap=1.5),
        AttentionCall(heads=4, kv_heads=2, k_dim=24, v_dim=16, scale=0.3, window=5, sinks=True),
    ],
    ids=str,
)
def test_rules_of_a_call_equal_those_of_dense_attention(call: AttentionCall) -> None:
    history = PagedHistory(AttentionSpec("cpu", torch.float32, (call,), 16), ["reference"], blocks=8)
    [found] = history.step([(Life(), 40)])["reference"]
    torch.testing.assert_close(found, DenseContext((call,)).attention(0, *history.last_inputs[0]))


def test_window_counts_the_query_itself() -> None:
    call = AttentionCall(heads=1, kv_heads=1, k_dim=4, v_dim=4, scale=1.0, window=3, chunk=4)
    assert [call.first_visible(position) for position in range(7)] == [0, 0, 0, 1, 4, 4, 4]
