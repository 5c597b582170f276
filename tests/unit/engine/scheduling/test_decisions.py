"""Decisions of the scheduler that depend only on a few numbers."""

import pytest

from engine.api.sampling_params import SamplingParams
from engine.scheduling.admission_order import StartPace, retry_after
from engine.scheduling.deadlines import Deadlines
from engine.scheduling.results import reason_to_end
from engine.scheduling.victim import VictimCandidate, choose_victim, lost_tokens
from tests.unit.scheduling_rig import bare_request


def candidate(order: int, *, level: float = 0.0, share: float = 0.0, lost: int = 10, freed: int = 5) -> VictimCandidate:
    return VictimCandidate(bare_request(order), level, share, lost, freed)


def chosen(*candidates: VictimCandidate, missing: int = 1) -> int | None:
    request = choose_victim(candidates, missing)
    return None if request is None else request.order


def test_lowest_rank_is_preempted_first_at_any_cost() -> None:
    assert chosen(candidate(0, level=5.0, lost=900), candidate(1, level=0.0, lost=1)) == 0


def test_cheapest_of_equal_rank_is_preempted() -> None:
    assert chosen(candidate(0, lost=30), candidate(1, lost=3), candidate(2, lost=300)) == 1


def test_latest_arrival_of_equal_cost_is_preempted() -> None:
    assert chosen(candidate(0), candidate(2), candidate(1)) == 2


def test_victim_that_frees_enough_beats_cheaper_one() -> None:
    assert chosen(candidate(0, lost=50, freed=4), candidate(1, lost=1, freed=1), missing=3) == 0
    assert chosen(candidate(0, lost=50, freed=2), candidate(1, lost=1, freed=1), missing=3) == 1


def test_victim_that_frees_nothing_is_last() -> None:
    assert chosen(candidate(0, level=9.0, freed=0), candidate(1, level=0.0, freed=1)) == 1
    assert chosen(candidate(0, freed=0)) == 0


def test_no_candidates_give_no_victim() -> None:
    assert chosen() is None


@pytest.mark.parametrize(("computed", "kept", "lost"), [(130, 2, 2), (128, 2, 0), (100, 2, 0), (130, 0, 130)])
def test_lost_tokens_are_those_without_kept_block(computed: int, kept: int, lost: int) -> None:
    assert lost_tokens(computed, kept, 64) == lost


def test_earliest_deadline_is_due_first_and_not_before() -> None:
    deadlines = Deadlines()
    late, early, never = bare_request(0), bare_request(1), bare_request(2)
    late.deadline, early.deadline = 9.0, 5.0
    for request in (late, early, never):
        deadlines.add(request)
    assert deadlines.next_at == 5.0
    assert deadlines.due(4.9) is None
    assert deadlines.due(5.0) == (early, "timeout")
    deadlines.remove(early)
    assert deadlines.next_at == 9.0
    deadlines.remove(late)
    deadlines.remove(never)
    assert deadlines.next_at is None


def test_started_request_keeps_only_its_own_deadline() -> None:
    deadlines, request = Deadlines(), bare_request(0)
    request.deadline, request.start_by = 9.0, 2.0
    deadlines.add(request)
    assert deadlines.due(3.0) == (request, "queue_timeout")
    deadlines.on_start(request)
    assert deadlines.due(3.0) is None
    assert deadlines.next_at == 9.0


def test_pace_is_learned_only_while_requests_wait() -> None:
    pace = StartPace()
    pace.note(0.0, others_wait=False)
    pace.note(1000.0, others_wait=True)
    for now in (1000.0, 1000.0, 1006.0):
        pace.note(now, others_wait=True)
    assert pace.seconds_each == pytest.approx(2.0)


def test_pace_forgets_old_turns() -> None:
    pace = StartPace()
    for now in range(500):
        pace.note(float(now), others_wait=True)
    for now in range(500):
        pace.note(500.0 + now / 10, others_wait=True)
    assert pace.seconds_each == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(
    ("tokens", "min_tokens", "ends"),
    [([7], 0, None), ([9], 0, "stop"), ([9], 1, None), ([7, 9], 1, "stop"), ([7, 7, 7], 0, "length")],
)
def test_request_ends_with_stop_token_or_at_max_tokens(tokens: list[int], min_tokens: int, ends: str | None) -> None:
    request = bare_request(0)
    request.sampling = SamplingParams(max_tokens=3, min_tokens=min_tokens, stop_token_ids=(9,))
    request.output_token_ids = tokens
    assert reason_to_end(request, tokens[-1]) == ends


@pytest.mark.parametrize(
    ("waiting", "seconds_each", "says"), [(256, None, 1), (10, 0.01, 1), (20, 1.0, 10), (256, 5.0, 60), (0, 9.0, 1)]
)
def test_retry_after_is_time_to_serve_half_the_queue(waiting: int, seconds_each: float | None, says: int) -> None:
    assert retry_after(waiting, seconds_each) == says
