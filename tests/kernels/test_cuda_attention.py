"""CUDA attention over random histories of sequences, compared with the reference backend."""

import pytest
import torch

from cache_tiers.layout.kv_pool import KVPool
from engine.attention import cuda
from engine.attention.backend import AttentionMetadata, AttentionSpec, StepShape
from engine.attention.cuda import CudaAttention
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import ForwardContext
from tests.sizes import Size
from tests.tensors.paged_history import Life, PagedHistory

SHAPES = {
    "pangu-7b": (32, 8, 128, 64, torch.bfloat16),
    "pangu-1b": (12, 6, 128, 128, torch.bfloat16),
    "three to a KV head": (6, 2, 64, 64, torch.float32),
    "one KV head": (7, 1, 64, 128, torch.bfloat16),
    "small": (4, 4, 16, 16, torch.float32),
}


def history(
    heads: int, kv_heads: int, dim: int, block_size: int, dtype: torch.dtype, *, layers: int = 1
) -> PagedHistory:
    # A scale other than dim ** -0.5 shows that the call's own is used.
    calls = (AttentionCall(heads=heads, kv_heads=kv_heads, k_dim=dim, v_dim=dim, scale=0.7 * dim**-0.5),) * layers
    return PagedHistory(AttentionSpec("cuda", dtype, calls, block_size), ["cuda", "reference"], blocks=20)


def assert_equal(outputs: dict[str, list[torch.Tensor]]) -> None:
    for found, expected in zip(outputs["cuda"], outputs["reference"], strict=True):
        tolerance = 2e-5 if found.dtype == torch.float32 else 2e-2
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@pytest.fixture(params=[1, 5], ids=["one processor", "five processors"])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Set the number of multiprocessors of the simulated GPU.

    With one, no keys are split. With five, the keys of few tiles are split, and some parts are empty.
    """
    monkeypatch.setattr(cuda, "_processors", lambda device: request.param)
    return int(request.param)


@pytest.mark.parametrize("shape", SHAPES)
def test_random_batches_on_recycled_blocks_match_reference(shape: str, size: Size) -> None:
    played = history(*SHAPES[shape], layers=2)
    longest = 2 * SHAPES[shape][3] + 10
    lives = [Life() for _ in range(3)]
    for _ in range(size.pick(small=4, full=20)):
        work = []
        for life in played.random.sample(lives, played.random.randint(1, 3)):
            if life.length > longest:
                played.retire(life)
            count = 1 if life.length and played.random.random() < 0.6 else played.random.randint(1, 60)
            work.append((life, count))
        assert_equal(played.step(work))


RULES = {
    "window": (AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, window=20),),
    "window of less than a tile's keys": (AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, window=3),),
    "chunk": (AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, chunk=24),),
    "window and chunk": (AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, window=20, chunk=24),),
    "softcap": (AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=1.0, softcap=2.0),),
    "sinks": (AttentionCall(heads=6, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, sinks=True),),
    "sinks in a window": (AttentionCall(heads=6, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, window=20, sinks=True),),
    "heads of 80": (AttentionCall(heads=2, kv_heads=2, k_dim=80, v_dim=80, scale=0.1),),
    "wider keys": (AttentionCall(heads=4, kv_heads=4, k_dim=24, v_dim=16, scale=0.3),),
    "wider values": (AttentionCall(heads=4, kv_heads=4, k_dim=16, v_dim=40, scale=0.3),),
    "layers that differ": (
        AttentionCall(heads=4, kv_heads=2, k_dim=32, v_dim=32, scale=0.2),
        AttentionCall(heads=4, kv_heads=1, k_dim=16, v_dim=16, scale=0.3, window=20),
    ),
}


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("calls", RULES.values(), ids=RULES.keys())
def test_rules_of_calls_match_reference(calls: tuple[AttentionCall, ...], dtype: torch.dtype, size: Size) -> None:
    played = PagedHistory(AttentionSpec("cuda", dtype, calls, 16), ["cuda", "reference"], blocks=24)
    lives = [Life() for _ in range(3)]
    for _ in range(size.pick(small=5, full=20)):
        work = [(life, played.random.choice((1, 1, 7, 40))) for life in lives if life.length < 80]
        if not work:
            break
        assert_equal(played.step(work))


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize("context", [15, 16, 17, 64])
def test_decode_with_chunk_at_block_edges_matches_reference(context: int) -> None:
    played = history(4, 2, 16, 16, torch.float32)
    life, other = Life(), Life()
    played.step([(life, context), (other, 5)])
    assert_equal(played.step([(other, 3), (life, 1)]))


@pytest.mark.usefixtures("processors")
def test_multi_tile_chunk_after_long_context_matches_reference() -> None:
    played = history(4, 1, 16, 64, torch.float32)
    life = Life()
    played.step([(life, 130)])
    assert_equal(played.step([(life, 70)]))


def test_captured_decode_rereads_positions_tables_and_slots() -> None:
    played = history(4, 2, 16, 16, torch.float32)
    lives = [Life(), Life()]
    played.step([(lives[0], 40), (lives[1], 3)])
    tables, slots, positions = (
        torch.zeros((2, 5), dtype=torch.int32),
        torch.zeros(2, dtype=torch.int64),
        torch.zeros(2, dtype=torch.int64),
    )
    backend = played.backends["cuda"]
    assert isinstance(backend, cuda.CudaAttention)
    recorded = backend.decode_context(tables, slots, positions)
    for _ in range(2):
        before = [life.length for life in lives]
        outputs = played.step([(life, 1) for life in lives])
        for at, life in enumerate(lives):
            tables[at, : len(life.blocks)] = torch.tensor(life.blocks, dtype=torch.int32)
            slots[at] = life.blocks[before[at] // 16] * 16 + before[at] % 16
            positions[at] = before[at]
        assert torch.equal(recorded.attention(0, *played.last_inputs[0]), outputs["cuda"][0])


class CapturedSteps(CudaAttention):
    """Attention of a captured step: the same memory for every step, and rows past those of the step."""

    ROWS, SEQUENCES, BLOCKS = 64, 5, 6

    def __init__(self, spec: AttentionSpec, pool: KVPool) -> None:
        super().__init__(spec, pool)
        self._captured_tables = torch.full((self.SEQUENCES, self.BLOCKS), 7, dtype=torch.int32)
        self._slots = torch.zeros(self.ROWS, dtype=torch.int64)
        shape = StepShape(self.ROWS, prompts=3, sequences=self.SEQUENCES)
        self._captured = self.step_context(shape, self._captured_tables, self._slots)
        self.spare_slot = 0

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        for line, table in enumerate(metadata.block_tables):
            self._captured_tables[line, : len(table)] = torch.tensor(table)
        self._slots.fill_(self.spare_slot)
        self._slots[: len(metadata.slot_mapping)] = metadata.slot_mapping
        self._captured.fill(metadata)
        return self

    def attention(
        self, index: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        padding = (0, 0, 0, 0, 0, self.ROWS - len(q))
        q_all, k_all, v_all = (torch.nn.functional.pad(x, padding) for x in (q, k, v))
        out = self._captured.attention(index, q_all, k_all, v_all, sinks)
        assert not out[len(q) :].any()
        return out[: len(q)]


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize("calls", RULES.values(), ids=RULES.keys())
def test_captured_steps_match_reference(calls: tuple[AttentionCall, ...], size: Size) -> None:
    played = PagedHistory(AttentionSpec("cuda", torch.float32, calls, 16), ["cuda", "reference"], blocks=24)
    captured = CapturedSteps(played.spec, played.pools["cuda"])
    captured.spare_slot = played.free.pop() * 16
    played.backends["cuda"] = captured
    lives = [Life() for _ in range(5)]
    for counts in ((30, 18, 1), (1, 1, 17, 1, 20), (1, 1, 1, 1, 1), (2,))[: size.pick(small=2, full=4)]:
        assert_equal(played.step(list(zip(lives, counts, strict=False))))


def test_captured_step_without_rows_is_zero() -> None:
    played = history(*SHAPES["small"])
    captured = CapturedSteps(played.spec, played.pools["cuda"])
    captured.spare_slot = played.free[0] * 16
    nothing = torch.zeros(0, 4, 16)
    captured.begin_step(AttentionMetadata((), (), (), torch.zeros(0, dtype=torch.int64)))
    assert not len(captured.attention(0, nothing, nothing, nothing))
