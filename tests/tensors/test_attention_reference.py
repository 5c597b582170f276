import pytest
import torch

from engine.attention.backend import AttentionMetadata, AttentionSpec
from engine.attention.reference import ReferenceAttention
from models.dense_context import DenseContext
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
    backend = ReferenceAttention(
        AttentionSpec("cpu", torch.float32, 9, 3, 64, 16), torch.full((8, 2, 2, 3, 16, 64), float("nan"))
    )
    context = backend.begin_step(AttentionMetadata((37,), (37,), (blocks,), slots))
    torch.testing.assert_close(context.attention(1, q, k, v), DenseContext().attention(1, q, k, v))


def test_stale_slots_of_a_recycled_block_never_show() -> None:
    spec = AttentionSpec("cpu", torch.float32, 4, 2, 16, 16)
    history = PagedHistory(spec, ["reference"], layers=1, blocks=8, block_size=16)
    life = Life()
    for count in (5, 1, 30, 1):
        assert history.step([(life, count)])["reference"].isfinite().all()
