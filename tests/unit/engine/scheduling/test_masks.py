"""Requests with a mask, which wait for each of their tokens without delaying the other requests."""

from dataclasses import replace

from engine.request.request import Request
from engine.request.scheduler_output import SchedulerOutput
from tests.unit.scheduling_rig import Rig


class EvenAfterOdd:
    """A mask under which even and odd ids alternate. `seen` holds the accepted tokens."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def accept(self, token_id: int) -> None:
        assert not self.seen or (self.seen[-1] + token_id) % 2
        self.seen.append(token_id)

    def words(self) -> bytes:
        even = 0x55555555 if not self.seen or self.seen[-1] % 2 else 0xAAAAAAAA
        return even.to_bytes(4, "little") * 2

    def begin(self) -> None:
        pass

    def verdict(self, text: str) -> None:
        return None

    def forced(self) -> tuple[int, ...]:
        return ()

    is_asleep = False
    is_ready = True
    failure: str | None = None


def add_masked(rig: Rig, prompt: list[int], max_tokens: int = 6) -> tuple[Request, EvenAfterOdd]:
    request, mask = rig.add(prompt, max_tokens), EvenAfterOdd()
    request.mask = mask
    return request, mask


def is_alternating(request: Request) -> bool:
    return [token % 2 for token in request.output_token_ids] == [at % 2 for at in range(len(request.output_token_ids))]


def test_every_mask_depends_on_the_token_before() -> None:
    rig = Rig()
    request, mask = add_masked(rig, [1, 2, 3])
    rig.run()
    assert len(request.output_token_ids) == 6
    assert is_alternating(request)
    assert mask.seen == request.output_token_ids


def test_only_step_with_mask_is_awaited() -> None:
    rig = Rig(max_tokens_per_step=4)
    rig.add([1, 2], 4)
    assert not rig.step()[0].is_awaited
    add_masked(rig, [4, 5, 6, 7, 8])
    chunk = rig.step()[0]
    assert not chunk.is_awaited
    assert not chunk.masks
    last_chunk = rig.step()[0]
    assert last_chunk.is_awaited
    assert list(last_chunk.masks) == ["r1"]


def test_request_without_mask_is_scheduled_ahead() -> None:
    rig = Rig()
    free = rig.add([1, 2], 5)
    masked, _ = add_masked(rig, [3, 4], 5)
    first, first_result = rig.begin()
    assert set(first.num_scheduled_tokens) == {"r0", "r1"}
    ahead, ahead_result = rig.begin()
    assert set(ahead.num_scheduled_tokens) == {"r0"}
    rig.scheduler.update(first, first_result)
    both = rig.begin()
    assert set(both[0].num_scheduled_tokens) == {"r0", "r1"}
    rig.scheduler.update(ahead, ahead_result)
    rig.scheduler.update(*both)
    rig.run()
    assert len(free.output_token_ids) == len(masked.output_token_ids) == 5
    assert is_alternating(masked)


def test_masked_request_prevents_several_passes() -> None:
    rig = Rig(decode_passes=4)
    rig.scheduler.step_time.cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"any": 1}), 1e-9)
    rig.add([1, 2], 40)
    add_masked(rig, [3, 4], 8)
    assert [rig.step()[0].passes for _ in range(8)] == [1] * 8
    assert rig.step()[0].passes == 4


class ThreeAtOnce(EvenAfterOdd):
    """A mask that forces two tokens after each sampled one.

    `pauses` is the number of times that `is_ready` is False each time before it is True.
    """

    def __init__(self, pauses: int = 0) -> None:
        super().__init__()
        self.pauses = self.left = pauses

    def forced(self) -> tuple[int, ...]:
        return (self.seen[-1] + 1, self.seen[-1] + 2)

    @property
    def is_ready(self) -> bool:  # type: ignore[override]
        self.left = self.pauses if not self.left else self.left - 1
        return not self.left


def test_forced_tokens_are_computed_in_one_step_unsampled() -> None:
    rig = Rig()
    request, _ = add_masked(rig, [1, 2, 3], 9)
    mask = request.mask = ThreeAtOnce()
    updates = rig.step()[1]
    assert [update.token_id for update in updates] == request.output_token_ids == mask.seen
    assert len(updates) == 3
    second = rig.step()[0]
    assert second.num_scheduled_tokens == {"r0": 3}
    assert second.cached_requests[0].new_token_ids == tuple(mask.seen[1:3])
    rig.run()
    assert len(request.output_token_ids) == 9
    assert mask.seen == request.output_token_ids


def test_no_token_is_forced_where_penalties_count_tokens() -> None:
    rig = Rig()
    request, _ = add_masked(rig, [1, 2, 3], 9)
    request.mask = ThreeAtOnce()
    request.sampling = replace(request.sampling, frequency_penalty=0.5)
    assert len(rig.step()[1]) == 1


def test_forced_tokens_survive_preemptions_and_end_at_max_tokens() -> None:
    rig = Rig(pool_blocks=6, max_tokens_per_step=16)
    requests = [add_masked(rig, [first, 2, 3, 4, 5, 6], 10)[0] for first in (1, 9)]
    for request in requests:
        request.mask = ThreeAtOnce()
    rig.run()
    assert rig.scheduler.num_preemptions > 0
    for request in requests:
        assert len(request.output_token_ids) == 10
        drawn = request.output_token_ids[::3]
        assert request.output_token_ids == [token + at for token in drawn for at in range(3)][:10]


def test_request_waiting_for_mask_delays_no_other() -> None:
    rig = Rig()
    free = rig.add([1, 2], 6)
    slow, _ = add_masked(rig, [3, 4], 6)
    slow.mask = ThreeAtOnce(pauses=3)
    rig.step()
    assert set(rig.step()[0].num_scheduled_tokens) == {"r0"}
    rig.run()
    assert len(free.output_token_ids) == len(slow.output_token_ids) == 6


def test_mask_survives_preemption() -> None:
    rig = Rig(pool_blocks=6, max_tokens_per_step=16)
    requests = [add_masked(rig, [first, 2, 3, 4, 5, 6], 10)[0] for first in (1, 9)]
    rig.run()
    assert rig.scheduler.num_preemptions > 0
    assert all(is_alternating(request) and len(request.output_token_ids) == 10 for request in requests)
