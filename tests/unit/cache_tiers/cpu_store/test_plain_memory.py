"""Host memory that Ebb manages itself: what no use of the store shows."""

import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import pytest
import torch

from cache_tiers.cpu_store.open_store import open_store
from cache_tiers.cpu_store.plain_arena import open_arena
from cache_tiers.cpu_store.plain_memory import PLAIN
from cache_tiers.lower.backend import TierClient, Value
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import Reject
from cache_tiers.testing import DictBackend, DictSession
from cache_tiers.tier import Tier
from tests.store_rig import BLOCK, SEAL, Rig, keys
from tests.waiting import until


class GatedBackend(DictBackend):
    """A tier that counts look-ups, and reads only while its gate is open."""

    def __init__(self) -> None:
        super().__init__(Tier("gated", "the gated tier"), lanes=8)
        self.gate = threading.Event()
        self.num_looked_up = 0

    def connect(self, meter: LinkMeter, _client: TierClient) -> "GatedSession":
        return GatedSession(self, meter)


class GatedSession(DictSession):
    _backend: GatedBackend

    def find(self, keys: Sequence[bytes]) -> list[bool]:
        self._backend.num_looked_up += 1
        return super().find(keys)

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        assert self._backend.gate.wait(20)
        return super().read(values)


def test_fetches_take_at_most_half_of_the_pool_at_once() -> None:
    backend = GatedBackend()

    def opened() -> Rig:
        return Rig(
            open_store(
                block_nbytes=BLOCK,
                cpu_bytes=32 * BLOCK,
                lower=[backend],
                seal=SEAL,
                keep_in_cpu=True,
                eviction="lru",
                kind=PLAIN,
            )
        )

    windows = [keys(range(start, start + 8)) for start in range(0, 64, 8)]
    writer = opened()
    for window in windows:
        assert writer.put(window) == window
        assert writer.store.flush(10)
    writer.store.close()
    reader = opened()
    backend.num_looked_up = 0
    handles = [reader.store.prefetch(window, lower=True) for window in windows]
    # Look-ups begin in order, so that this one follows all that the prefetches have begun.
    last = reader.store.look_up(keys(range(100, 101)))
    until(lambda: reader.store.poll_look_up(last) == 0)
    assert backend.num_looked_up == 2 + 1
    until(lambda: reader.store.stats().cpu.used_bytes == 16 * BLOCK)
    backend.gate.set()
    for handle in handles:
        reader.store.release([slot.key for slot in reader.wait(handle).slots])
    reader.store.check()
    reader.store.close()


@pytest.mark.parametrize("error", [0, 2])
def test_memory_is_registered_with_cuda_until_it_is_closed(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Without the registration, copies still work, but wait."""
    calls = list[tuple[str, int]]()

    def register(_address: int, nbytes: int, _flags: int) -> int:
        calls.append(("register", nbytes))
        return error

    def unregister(_address: int) -> None:
        calls.append(("unregister", 0))

    runtime = SimpleNamespace(cudaHostRegister=register, cudaHostUnregister=unregister)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "cudart", lambda: runtime)
    arena = open_arena(1 << 20, shared=False)
    arena.view[-1] = 1
    arena.close()
    assert calls == [("register", 1 << 20), *([] if error else [("unregister", 0)])]
