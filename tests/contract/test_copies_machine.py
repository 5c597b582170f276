"""Random lives of a cache on the fake device: blocks are computed, copied, stored and loaded in every allowed order.

The scheduler and the tiers guarantee three things: a block under a store is not written, a block under a load is not
used at all, and a slot under a copy is neither written nor freed. The copies themselves must order everything else. The
fake device raises as soon as they do not.
"""

import random
from collections.abc import Sequence

import torch
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout, KVShape, PoolOrder
from cache_tiers.transfer import BlockCopy, Direction, TransferJob
from engine.worker.cache_engine import CacheEngine
from tests.fake_npu.device import FakeNpu
from tests.fake_npu.device_tensor import plain
from tests.lives import run_lives
from tests.sizes import Size

BLOCKS, SLOTS = 5, 4
SHAPES = {
    "equal layers": (KVShape(2, 8, 8), KVShape(2, 8, 8)),
    "different layers": (KVShape(2, 8, 4), KVShape(1, 6, 6), KVShape(1, 6, 6)),
}


class CacheLife(RuleBasedStateMachine):
    """Random life of a `CacheEngine`, compared with the expected contents of blocks and slots.

    blocks, slots: the bytes that each must hold.
    pinned, locked: number of copies in flight that need each block or slot.
    loading: blocks that are the target of a load without a result.
    unwritten: slots that are the target of a store without a result.
    pending: jobs without a result, by id.
    steps: numbers of the steps whose results have not all been collected.
    """

    @initialize(order=st.sampled_from(list(PoolOrder)), shapes=st.sampled_from(sorted(SHAPES)))
    def open(self, order: PoolOrder, shapes: str) -> None:
        self.layout = BlockLayout(SHAPES[shapes], 4, 2, order)
        self.device = FakeNpu()
        self.cache = CacheEngine(self.layout, BLOCKS, torch.bfloat16, self.device, spare_blocks=1)
        self.host = bytearray(SLOTS * self.layout.nbytes)
        self.cache.attach_host_pool(memoryview(self.host))
        self.draw = random.Random(0)
        self.blocks = [bytes(self.layout.nbytes)] * BLOCKS
        self.slots = [bytes(self.layout.nbytes)] * SLOTS
        self.pinned, self.locked = [0] * BLOCKS, [0] * SLOTS
        self.loading: set[int] = set()
        self.unwritten: set[int] = set()
        self.pending: dict[int, TransferJob] = {}
        self.steps: list[int] = []

    def parts(self, block: int) -> Sequence[torch.Tensor]:
        """View the parts of a block as the device sees them."""
        return KVPool(plain(self.cache.pool.tensor), self.layout).block(block)

    def slot(self, job: TransferJob) -> int:
        return job.host_offset // self.layout.nbytes

    @rule(block=st.integers(0, BLOCKS - 1))
    def compute(self, block: int) -> None:
        """Fill a block that no copy needs, as an operator of the model does."""
        if self.pinned[block]:
            return
        content = self.draw.randbytes(self.layout.nbytes)
        parts = self.parts(block)
        self.device.fake.computed((), parts)
        bits = torch.frombuffer(bytearray(content), dtype=torch.bfloat16).split([part.numel() for part in parts])
        for part, filled in zip(parts, bits, strict=True):
            part.copy_(filled.view(part.shape))
        self.blocks[block] = content

    @rule(block=st.integers(0, BLOCKS - 1))
    def attend(self, block: int) -> None:
        """Read a block as an operator of the model does. Content that was loaded before must be there."""
        if block in self.loading:
            return
        self.device.fake.computed(self.parts(block), ())
        assert bytes_of(self.parts(block)) == self.blocks[block]

    @rule(source=st.integers(0, BLOCKS - 1), over=st.integers(0, BLOCKS - 1))
    def copy_within(self, source: int, over: int) -> None:
        if source == over or self.pinned[over] or source in self.loading:
            return
        self.cache.copy_within([BlockCopy(source, over)])
        self.blocks[over] = self.blocks[source]

    @rule(pairs=st.lists(st.tuples(st.integers(0, BLOCKS - 1), st.integers(0, SLOTS - 1)), min_size=1, max_size=3))
    def store(self, pairs: list[tuple[int, int]]) -> None:
        jobs = []
        for block, slot in pairs:
            if self.locked[slot] or block in self.loading:
                continue
            jobs.append(self.job(Direction.STORE, block, slot))
            self.slots[slot] = self.blocks[block]
            self.unwritten.add(slot)
            self.pinned[block] += 1
        self.start(jobs)

    @rule(pairs=st.lists(st.tuples(st.integers(0, BLOCKS - 1), st.integers(0, SLOTS - 1)), min_size=1, max_size=3))
    def load(self, pairs: list[tuple[int, int]]) -> None:
        jobs = []
        for block, slot in pairs:
            if self.pinned[block] or slot in self.unwritten:
                continue
            jobs.append(self.job(Direction.LOAD, block, slot))
            self.blocks[block] = self.slots[slot]
            self.loading.add(block)
            self.pinned[block] += 1
        self.start(jobs)

    def job(self, direction: Direction, block: int, slot: int) -> TransferJob:
        self.locked[slot] += 1
        return TransferJob(self.draw.getrandbits(40), direction, block, slot * self.layout.nbytes)

    def start(self, jobs: list[TransferJob]) -> None:
        self.steps.append(self.cache.owed.begin_step())
        self.pending |= {job.job_id: job for job in jobs}
        self.cache.start(self.steps[-1], jobs)

    @rule(which=st.integers(0, 99), wait=st.booleans())
    @precondition(lambda self: self.steps)
    def collect(self, which: int, wait: bool) -> None:
        """Take the results of a step and of all steps before it, with or without waiting."""
        index = which % len(self.steps)
        step, self.steps = self.steps[index], self.steps[index + 1 :]
        for result in self.cache.owed.take(step, wait=wait):
            job = self.pending.pop(result.job_id)
            assert result.error is None
            slot = self.slot(job)
            self.locked[slot] -= 1
            self.pinned[job.block_id] -= 1
            if job.direction is Direction.STORE:
                self.unwritten.discard(slot)
                assert bytes_of_slot(self, slot) == self.slots[slot]
            else:
                self.loading.discard(job.block_id)

    @rule(slot=st.integers(0, SLOTS - 1))
    def arrive_from_below(self, slot: int) -> None:
        """Fill a slot that no copy needs, as a lower tier does."""
        if not self.locked[slot]:
            self.slots[slot] = self.draw.randbytes(self.layout.nbytes)
            self.host[slot * self.layout.nbytes : (slot + 1) * self.layout.nbytes] = self.slots[slot]

    @rule()
    def synchronize(self) -> None:
        self.device.synchronize()

    def teardown(self) -> None:
        if not hasattr(self, "cache"):
            return
        self.start([])
        self.collect(len(self.steps) - 1, wait=True)
        assert not self.pending
        for block in range(BLOCKS):
            self.attend(block)
        assert not any(bytes_of(self.parts(BLOCKS)))
        self.cache.close()
        assert [bytes_of_slot(self, slot) for slot in range(SLOTS)] == self.slots
        self.device.fake.host.free(torch.frombuffer(self.host, dtype=torch.uint8))


def bytes_of(parts: Sequence[torch.Tensor]) -> bytes:
    return b"".join(bytes(part.contiguous().view(-1).view(torch.uint8).numpy()) for part in parts)


def bytes_of_slot(life: CacheLife, slot: int) -> bytes:
    return bytes(life.host[slot * life.layout.nbytes : (slot + 1) * life.layout.nbytes])


def test_every_byte_is_in_place_after_copies_in_any_order(size: Size) -> None:
    """Run about 10,000 steps in the full size."""
    lives, steps = size.pick(small=(8, 40), full=(130, 100))
    run_lives(CacheLife, lives=lives, steps=steps)
