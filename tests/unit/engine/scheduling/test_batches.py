"""Steps of a pipeline: those in flight have disjoint decodes, and each has its share."""

from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from tests.unit.scheduling_rig import Rig

InFlight = tuple[SchedulerOutput, ModelRunnerOutput]


def begin(rig: Rig, *, ahead: bool) -> InFlight | None:
    output = rig.scheduler.schedule(ahead=ahead)
    return (output, rig.worker.execute(output)) if output is not None else None


def decoding(rig: Rig, count: int) -> None:
    """Add `count` requests and compute their prompts."""
    for number in range(count):
        rig.add([number, 1, 2], max_tokens=30)
    while any(not request.output_token_ids for request in rig.requests):
        rig.step()


def test_steps_in_flight_share_the_decodes() -> None:
    rig = Rig(num_stages=2, max_num_seqs=8, pool_blocks=64, max_tokens_per_step=64)
    decoding(rig, 5)
    first, second = begin(rig, ahead=False), begin(rig, ahead=False)
    assert first is not None
    assert second is not None
    batches = [set(output.num_scheduled_tokens) for output, _ in (first, second)]
    assert [len(batch) for batch in batches] == [3, 2]
    assert not batches[0] & batches[1]
    assert begin(rig, ahead=False) is None, "every decode is in flight"
    third = begin(rig, ahead=True)
    assert third is not None
    assert set(third[0].num_scheduled_tokens) == batches[0]
    for step in (first, second, third):
        rig.scheduler.update(*step)
    rig.run()


def test_new_request_joins_the_smaller_batch() -> None:
    rig = Rig(num_stages=2, max_num_seqs=8, pool_blocks=64, max_tokens_per_step=64)
    decoding(rig, 2)
    first, second = begin(rig, ahead=False), begin(rig, ahead=False)
    assert first is not None
    assert second is not None
    rig.scheduler.finish_request(next(iter(second[0].num_scheduled_tokens)), "abort")
    rig.scheduler.update(*first)
    rig.scheduler.update(*second)
    rig.add([9, 9], max_tokens=20)
    sizes = []
    in_flight = [step for step in (begin(rig, ahead=False), begin(rig, ahead=False)) if step is not None]
    for _ in range(6):
        if (following := begin(rig, ahead=True)) is not None:
            in_flight.append(following)
        sizes.append(len(in_flight[0][0].num_scheduled_tokens))
        rig.scheduler.update(*in_flight.pop(0))
        while len(in_flight) < 2 and (more := begin(rig, ahead=False)) is not None:
            in_flight.append(more)
    assert sizes[-3:] == [1, 1, 1]


def test_chunks_of_one_prompt_are_in_several_steps() -> None:
    rig = Rig(num_stages=3, pool_blocks=64, max_tokens_per_step=8)
    rig.add(list(range(30)), max_tokens=1)
    steps = [begin(rig, ahead=False) for _ in range(3)]
    assert [step[0].total_tokens for step in steps if step is not None] == [8, 8, 8]
