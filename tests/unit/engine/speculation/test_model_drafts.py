"""Drafts by a model, as the scheduler plans them: after texts, where they pay, and without a change of any answer."""

import pytest

from engine.request.scheduler_output import DraftWork, ModelRunnerOutput, SchedulerOutput
from engine.speculation.draft_cost import DraftCost, PlainStep
from engine.speculation.model_drafts import FIRST_CHANCE, ModelDrafts
from tests.model.toys import HalfRight
from tests.unit.engine.speculation.test_drafts import ALL_RIGHT, is_alone
from tests.unit.scheduling_rig import VOCAB, Rig, are_right, bare_request

STEP = 0.01
PLAIN = PlainStep(STEP, STEP / 50)


def modelled(*, text: HalfRight | None = None, **more: object) -> Rig:
    """Build a rig with a draft model, whose texts give no drafts unless `text` does."""
    proposer = text or HalfRight(VOCAB, is_silent=True)
    sizes = {"max_tokens_per_step": 64, "pool_blocks": 64, **more}
    rig = Rig(proposer=proposer, model_drafts=ModelDrafts(), **sizes)  # type: ignore[arg-type]
    # A prompt token costs a hundredth of a step.
    for tokens in (1, 64) * 10:
        step = SchedulerOutput(step_id=0, num_scheduled_tokens={"any": tokens})
        rig.scheduler.step_time.cost.note(step, STEP * (1 + tokens / 100))
    return rig


def test_drafts_of_a_model_keep_the_answer_and_save_steps() -> None:
    rig = modelled()
    request = rig.add([1, 2, 3], 60)
    steps = 0
    while rig.scheduler.has_unfinished_requests():
        rig.step()
        steps += 1
    assert is_alone(request)
    assert rig.scheduler.accepted == {"model": 60 - steps}
    assert rig.scheduler.drafted["model"] > rig.scheduler.accepted["model"] > 10


def test_model_drafts_only_after_all_tokens_are_known() -> None:
    rig = modelled()
    rig.add([1, 2], 40)
    first = rig.begin()
    behind = rig.begin()
    # The step after it waits, so that the draft model can read.
    assert (behind[0].to_draft, behind[0].is_awaited) == ({}, True)
    rig.scheduler.update(*first)
    rig.scheduler.update(*behind)
    drafted = rig.begin()
    assert drafted[0].to_draft
    assert drafted[0].is_awaited
    assert drafted[0].num_scheduled_tokens == {"r0": 1}
    rig.scheduler.update(*drafted)
    rig.run()
    assert are_right(rig.requests)


def test_text_that_is_surer_is_asked_first() -> None:
    rig = modelled(text=HalfRight(VOCAB, ALL_RIGHT))
    rig.add([1, 2, 3], 40)
    rig.run()
    assert rig.scheduler.drafted["prompt"] > 0 == rig.scheduler.drafted["model"]
    assert are_right(rig.requests)


def test_several_streams_share_the_drafts_of_a_step() -> None:
    rig = modelled()
    for first in (1, 5, 9):
        rig.add([first, 2], 30)
    most = 0
    while rig.scheduler.has_unfinished_requests():
        most = max(most, len(rig.step()[0].to_draft))
    assert most == 3
    assert are_right(rig.requests)


def test_drafts_of_a_model_survive_preemptions() -> None:
    rig = modelled(pool_blocks=6)
    for first in (1, 9):
        rig.add([first, 2, 3, 4, 5, 6], 10)
    rig.run()
    assert rig.scheduler.num_preemptions > 0
    assert rig.scheduler.accepted["model"] > 0
    assert are_right(rig.requests)


def test_failed_model_is_not_asked_again() -> None:
    rig = modelled()
    rig.worker.has_no_drafter = True
    rig.add([1, 2, 3], 30)
    asked = 0
    while rig.scheduler.has_unfinished_requests():
        asked += bool(rig.step()[0].to_draft)
    assert asked == 1
    assert are_right(rig.requests)


def test_drafts_that_are_never_right_stop_by_themselves() -> None:
    rig = modelled()
    rig.worker.drafter_period = 1
    rig.add([1, 2, 3], 200)
    rig.run()
    assert 0 < rig.scheduler.drafted["model"] < 12
    rig.add([4, 5, 6], 40)
    rig.run()
    # The next request begins with what was learned.
    assert rig.scheduler.drafted["model"] < 15
    assert are_right(rig.requests)


def test_chance_of_a_new_request_is_that_of_the_others() -> None:
    drafts, requests = ModelDrafts(), [bare_request(number) for number in range(40)]
    assert drafts.chance(requests[0]) == FIRST_CHANCE
    for request in requests[:30]:
        drafts.learn(request, 4, 0)
        drafts.learn(request, 4, 0)
    assert drafts.chance(requests[30]) < FIRST_CHANCE - 0.2
    for _ in range(2000):
        drafts.fade(requests[30])
    # A chance that was too low for drafts is tried again.
    assert drafts.chance(requests[30]) == pytest.approx(FIRST_CHANCE, abs=0.01)


def note_work(rig: Rig, share: float) -> None:
    """Have a pass of the draft model take `share` of a step."""
    speculation = rig.scheduler._speculation
    assert speculation is not None
    for _ in range(20):
        work = DraftWork(num_drafted={}, passes=2, rows=2, seconds=2 * share * STEP)
        result = ModelRunnerOutput(step_id=0, sampled_token_ids={}, draft_work=work, started=1.0, ended=1.0 + STEP)
        speculation.on_computed(SchedulerOutput(step_id=0, num_scheduled_tokens={"x": 1}), result, PLAIN)


@pytest.mark.parametrize(("share", "is_worth_it"), [(0.1, True), (0.7, False)])
def test_model_that_is_too_slow_drafts_nothing(share: float, is_worth_it: bool) -> None:
    rig = modelled()
    note_work(rig, share)
    rig.add([1, 2, 3], 20)
    rig.run()
    assert (rig.scheduler.drafted["model"] > 0) == is_worth_it


def test_costs_of_passes_and_rows_are_separated() -> None:
    cost = DraftCost()
    for passes, rows in [(4, 4), (4, 300), (1, 512), (3, 30)] * 20:
        cost.note_model(passes, rows, 0.002 * passes + 0.0001 * rows, PLAIN)
    assert cost.model_seconds(PLAIN, 1, 0) == pytest.approx(0.002, rel=0.1)
    assert cost.model_seconds(PLAIN, 0, 1) == pytest.approx(0.0001, rel=0.1)


@pytest.mark.parametrize(("prompt", "wanted", "is_read"), [(40, 12, True), (3000, 12, False)])
def test_long_prompt_is_not_read_for_a_short_answer(prompt: int, wanted: int, is_read: bool) -> None:
    rig = modelled(pool_blocks=1000, max_tokens_per_step=4096)
    rig.add([at % VOCAB for at in range(prompt)], wanted)
    rig.run()
    assert (rig.scheduler.drafted["model"] > 0) == is_read
