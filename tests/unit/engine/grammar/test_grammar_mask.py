"""Masks of a step are found together, and a slow one is waited for once."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from engine.grammar import grammar_mask
from engine.grammar.automaton import Automaton, Position
from engine.grammar.compiled_forms import CompiledForm
from engine.grammar.grammar_mask import GrammarMask, MaskThreads
from tests.unit.engine.scheduling.test_masks import EvenAfterOdd
from tests.unit.scheduling_rig import Rig

MOST = 5
START = Position(b"\xff")


class Held:
    """An automaton whose masks come when the test says so."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.seen = list[list[int]]()

    def copy(self) -> "Held":
        return self

    def advance(self, token_ids: list[int]) -> Position:
        self.go.wait()
        self.seen.append(token_ids)
        return Position(bytes(token_ids))


@pytest.fixture
def threads() -> Iterator[MaskThreads]:
    with ThreadPoolExecutor(2) as quick, ThreadPoolExecutor(1) as slow:
        yield MaskThreads(quick, slow)


def mask_of(held: Held, threads: MaskThreads) -> GrammarMask:
    return GrammarMask(CompiledForm(cast(Automaton, held), START), threads, b"\x01")


def test_many_slow_masks_share_one_deadline(threads: MaskThreads, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[float]()

    def wait(_: object, timeout: float) -> "Waited":
        waited.append(timeout)
        # The time of a wait passes without one.
        clock[0] += timeout
        return Waited()

    class Waited:
        done = ()

    clock = [100.0]
    monkeypatch.setattr(grammar_mask, "wait", wait)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    held = Held()
    masks = [mask_of(held, threads) for _ in range(32)]
    for mask in masks:
        mask.accept(7)
        mask.begin()
    assert not any(mask.is_ready for mask in masks)
    assert not any(mask.is_ready for mask in masks)
    held.go.set()
    assert sum(waited) <= grammar_mask.PATIENCE_SECONDS * 1.01
    assert [mask.words() for mask in masks] == [b"\x07"] * 32


def test_a_slow_answer_leaves_the_quick_threads(threads: MaskThreads, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = Held(), Held()
    mask = mask_of(slow, threads)
    hostile = [mask, mask_of(slow, threads), mask_of(slow, threads)]
    slow.go.set()
    with monkeypatch.context() as patch:
        patch.setattr(grammar_mask, "PATIENCE_SECONDS", -1.0)
        for each in hostile:
            each.accept(1)
            assert each.words() == b"\x01"
    slow.go.clear()
    for each in hostile:
        each.accept(2)
        each.begin()
    quick.go.set()
    other = mask_of(quick, threads)
    other.accept(3)
    assert other.words() == b"\x03"
    slow.go.set()
    assert mask.words() == b"\x02"


class Begun(EvenAfterOdd):
    """A mask that is asked for only when no mask of the step has yet to be begun."""

    def __init__(self, all_masks: list["Begun"]) -> None:
        super().__init__()
        self.all_masks = all_masks
        self.is_begun = True
        all_masks.append(self)

    def accept(self, token_id: int) -> None:
        super().accept(token_id)
        self.is_begun = False

    def begin(self) -> None:
        self.is_begun = True

    def forced(self) -> tuple[int, ...]:
        assert all(mask.is_begun or len(mask.seen) == MOST for mask in self.all_masks)
        return ()


def test_every_mask_of_a_step_is_begun_before_one_is_asked() -> None:
    rig, masks = Rig(), list[Begun]()
    for first in range(4):
        rig.add([first, 2, 3], MOST).mask = Begun(masks)
    rig.run()
    assert [len(mask.seen) for mask in masks] == [MOST] * 4
