"""Checks that the fake device catches each mistake at once. Without that the tests around these would prove nothing."""

from collections.abc import Callable, Iterable

import pytest
import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import PoolOrder
from cache_tiers.npu.owed_results import CopyBatch
from cache_tiers.npu.staged_copies import StagedCopies
from cache_tiers.npu.streams import StreamMark
from cache_tiers.transfer import BlockCopy, Direction, TransferJob, TransferResult
from tests.fake_npu.device import FakeMemory
from tests.fake_npu.device_tensor import plain
from tests.fake_npu.faults import HostAccessError, MissingEventError, UnpinnedMemoryError, UseAfterFreeError
from tests.fake_npu.spans import spans_of
from tests.fake_npu.streams import FakeEvent, FakeStream
from tests.kv_layouts import equal_layers

LAYOUT = equal_layers(3, 2, 4, 8, order=PoolOrder.LAYERS)
STORE = TransferJob(1, Direction.STORE, 2, 0)
LOAD = TransferJob(2, Direction.LOAD, 4, LAYOUT.nbytes)


class Scene:
    """A pool of six blocks, three host slots, and a model that reads or writes single blocks."""

    def __init__(self) -> None:
        self.memory = FakeMemory()
        self.tensor = self.memory.zeros((6 * LAYOUT.elements,), torch.bfloat16)
        self.host = bytearray(3 * LAYOUT.nbytes)
        self.copies = StagedCopies(KVPool(self.tensor, LAYOUT), 6, self.memory)
        self.copies.attach(memoryview(self.host))

    def block(self, block: int) -> torch.Tensor:
        """View a block as the device sees it."""
        [part] = KVPool(plain(self.tensor), LAYOUT).block(block)
        return part

    def write(self, block: int, value: float) -> None:
        self.memory.computed((), [self.block(block)])
        self.block(block).fill_(value)

    def read(self, block: int) -> torch.Tensor:
        self.memory.computed([self.block(block)], ())
        return self.block(block).clone()

    def slot(self, number: int) -> torch.Tensor:
        at = number * LAYOUT.nbytes
        return torch.frombuffer(self.host, dtype=torch.uint8)[at : at + LAYOUT.nbytes].view(torch.bfloat16)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def forget_to_wait(monkeypatch: pytest.MonkeyPatch, who: Callable[[FakeStream], bool]) -> None:
    kept = FakeStream.wait_for

    def wait_for(stream: FakeStream, event: StreamMark) -> None:
        if not who(stream):
            kept(stream, event)

    monkeypatch.setattr(FakeStream, "wait_for", wait_for)


def results(batches: Iterable[CopyBatch]) -> list[TransferResult]:
    return [result for batch in batches for result in batch.results()]


def is_compute(stream: FakeStream) -> bool:
    return stream.name == "the model's stream"


def test_target_of_copy_is_poisoned_until_result_is_awaited(scene: Scene) -> None:
    scene.write(2, 1.5)
    batches = scene.copies.start([STORE])
    assert scene.slot(0).isnan().all()
    assert [(each.job_id, each.error) for each in results(batches)] == [(1, None)]
    assert (scene.slot(0) == 1.5).all()


def test_model_reading_block_under_load_is_caught(scene: Scene) -> None:
    scene.copies.start([LOAD])
    with pytest.raises(MissingEventError, match="the model's stream reads memory that stream 2 wrote"):
        scene.read(4)


def test_model_overwriting_block_under_load_is_caught(scene: Scene) -> None:
    scene.copies.start([LOAD])
    with pytest.raises(MissingEventError, match="the model's stream writes memory that stream 2 wrote"):
        scene.write(4, 1.0)


def test_model_computes_other_blocks_while_load_is_under_way(scene: Scene) -> None:
    scene.slot(1)[:] = 2.5
    (batch,) = scene.copies.start([LOAD])
    scene.write(2, 1.5)
    assert (scene.read(2) == 1.5).all()
    assert not batch.has_ended()
    while not batch.has_ended():
        scene.write(3, 1.0)
    assert (scene.read(4) == 2.5).all()


def test_results_without_wait_are_caught(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = scene.copies.start([LOAD])
    monkeypatch.setattr(FakeEvent, "wait", lambda _event: None)
    with pytest.raises(AssertionError, match="read before the event was reached"):
        results(batches)


def test_store_that_does_not_wait_for_model_is_caught(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_to_wait(monkeypatch, lambda stream: not is_compute(stream))
    scene.write(2, 1.5)
    with pytest.raises(MissingEventError, match="stream 1 reads memory that the model's stream wrote"):
        scene.copies.start([STORE])


def test_load_into_block_that_model_still_reads_is_caught(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_to_wait(monkeypatch, lambda stream: not is_compute(stream))
    scene.read(4)
    with pytest.raises(MissingEventError, match="stream 2 writes memory that the model's stream read"):
        scene.copies.start([LOAD])


def test_model_writing_block_under_store_is_caught(scene: Scene) -> None:
    batches = scene.copies.start([STORE])
    with pytest.raises(MissingEventError, match="the model's stream writes memory that stream 1 read"):
        scene.write(2, 1.0)
    results(batches)
    scene.write(2, 1.0)


def test_device_copy_onto_block_under_store_is_caught(scene: Scene) -> None:
    scene.copies.start([STORE])
    with pytest.raises(MissingEventError, match="the model's stream writes memory that stream 1 read"):
        scene.copies.copy_within([BlockCopy(0, 2)])


def test_load_from_slot_with_unawaited_store_is_caught(scene: Scene) -> None:
    scene.copies.start([STORE])
    with pytest.raises(MissingEventError, match="stream 2 reads memory that stream 1 wrote"):
        scene.copies.start([TransferJob(3, Direction.LOAD, 5, 0)])


def test_copy_with_unpinned_host_memory_is_refused(scene: Scene) -> None:
    loose = torch.zeros(LAYOUT.nbytes, dtype=torch.uint8)
    staging = scene.memory.zeros((LAYOUT.nbytes,), torch.uint8)
    with pytest.raises(UnpinnedMemoryError):
        scene.memory.new_stream().copy(staging, loose)
    with pytest.raises(UnpinnedMemoryError):
        scene.memory.new_stream().copy(loose, staging)


def test_host_memory_freed_under_copy_is_caught(scene: Scene) -> None:
    batches = scene.copies.start([STORE])
    scene.memory.host.free(torch.frombuffer(scene.host, dtype=torch.uint8))
    with pytest.raises(UseAfterFreeError):
        results(batches)


def test_close_waits_so_that_host_memory_can_be_freed(scene: Scene) -> None:
    scene.write(2, 1.5)
    batches = scene.copies.start([STORE])
    scene.copies.close()
    assert (scene.slot(0) == 1.5).all()
    scene.memory.host.free(torch.frombuffer(scene.host, dtype=torch.uint8))
    results(batches)


@pytest.mark.parametrize(
    "look",
    [
        lambda tensor: tensor.tolist(),
        lambda tensor: tensor[2:].cpu(),
        lambda tensor: tensor.view(-1)[0].item(),
        lambda tensor: tensor.to("cpu"),
        lambda tensor: bool(tensor.view(-1)[0]),
        lambda tensor: repr(tensor[0]),
    ],
    ids=["tolist", "cpu", "item", "to", "bool", "repr"],
)
def test_host_access_to_device_memory_is_refused(scene: Scene, look: Callable[[torch.Tensor], object]) -> None:
    with pytest.raises(HostAccessError):
        look(scene.tensor)


def test_copy_between_host_and_device_needs_a_stream(scene: Scene) -> None:
    slot = scene.memory.pinned(memoryview(scene.host))[: LAYOUT.nbytes]
    staging = scene.memory.zeros((LAYOUT.nbytes,), torch.uint8)
    with pytest.raises(HostAccessError):
        staging.copy_(slot)
    with pytest.raises(HostAccessError):
        slot.copy_(staging)


def test_value_computed_from_device_memory_can_be_read(scene: Scene) -> None:
    assert (scene.tensor[:8] + 1).sum().item() == 8


@pytest.mark.parametrize("seed", range(20))
def test_two_views_share_bytes_exactly_when_spans_overlap(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    home = torch.arange(4 * 5 * 6, dtype=torch.int32).view(4, 5, 6)
    views = []
    for _ in range(2):
        low = [int(torch.randint(0, size, (), generator=generator)) for size in home.shape]
        cut = tuple(slice(at, at + 1 + int(torch.randint(0, 3, (), generator=generator))) for at in low)
        views.append(home[cut])
    shared = bool(set(views[0].flatten().tolist()) & set(views[1].flatten().tolist()))
    assert spans_of(views[0]).overlap(spans_of(views[1])) is shared
