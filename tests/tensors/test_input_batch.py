import pytest
import torch

from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import CachedRequestData, NewRequestData, SchedulerOutput
from engine.worker.batch.input_batch import InputBatch

PARAMS = SamplingParams(temperature=0.0)


def new(
    request_id: str, tokens: range, blocks: tuple[int, ...], computed: int = 0, prompt_len: int = 0
) -> NewRequestData:
    return NewRequestData(request_id, tuple(tokens), prompt_len or len(tokens), blocks, computed, PARAMS)


def batch_with(*requests: NewRequestData) -> InputBatch:
    batch = InputBatch(4, 1000, torch.device("cpu"))
    batch.update(SchedulerOutput(step_id=1, new_requests=requests))
    return batch


def test_rows_of_mixed_batch_follow_schedule_order() -> None:
    batch = batch_with(new("a", range(100, 106), (5, 2)), new("b", range(200, 209), (7, 1, 3), computed=8))
    step = batch.build({"b": 1, "a": 3})
    assert step.input_ids.tolist() == [208, 100, 101, 102]
    assert step.positions.tolist() == [8, 0, 1, 2]
    assert step.attention.query_lens == (1, 3)
    assert step.attention.seq_lens == (9, 3)
    assert step.attention.slot_mapping.tolist() == [12, 20, 21, 22]
    assert [tuple(table) for table in step.attention.block_tables] == [(7, 1, 3), (5, 2)]


def test_chunk_across_blocks_uses_slots_of_block_table() -> None:
    step = batch_with(new("a", range(20), (9, 0, 4, 2, 6), computed=3)).build({"a": 10})
    assert step.attention.slot_mapping.tolist() == [39, 0, 1, 2, 3, 16, 17, 18, 19, 8]


def test_only_request_with_last_known_token_computed_samples() -> None:
    batch = batch_with(new("part", range(6), (0, 1)), new("whole", range(5), (2, 3)))
    step = batch.build({"part": 5, "whole": 5})
    assert list(step.logits_rows) == [9]
    assert [len(request.sampling) for request in step.scheduled] == [0, 1]
    assert (step.sampling_rows[0].position, step.sampling_rows[0].produced) == (5, 0)


def test_next_step_builds_before_scheduler_sees_sample() -> None:
    batch = batch_with(new("a", range(4), (0,)))
    batch.expect(batch.build({"a": 4}).scheduled).fill([77])
    batch.update(SchedulerOutput(step_id=2, cached_requests=(CachedRequestData("a", (1,), 4),)))
    step = batch.build({"a": 1})
    assert step.input_ids.tolist() == [77]
    assert step.positions.tolist() == [4]
    assert step.attention.slot_mapping.tolist() == [4]
    assert (step.sampling_rows[0].position, step.sampling_rows[0].produced) == (5, 1)


def test_next_step_builds_before_sample_is_computed() -> None:
    batch = batch_with(new("part", range(6), (0, 1)), new("a", range(4), (2, 4)), new("b", range(3), (3,)))
    expected = batch.expect(batch.select({"part": 5, "a": 4, "b": 3}))
    news = tuple(CachedRequestData(name, (), done) for name, done in (("a", 4), ("b", 3)))
    batch.update(SchedulerOutput(step_id=2, cached_requests=news))
    (late,) = batch.select({"b": 1})
    assert (late.token_ids, late.context_len) == ([~1], 3)
    assert expected.fill([70, 71]) == {"a": (70,), "b": (71,)}
    assert [request.token_ids for request in batch.select({"b": 1, "a": 1})] == [[71], [70]]


def test_placeholder_is_valid_only_for_previous_pass() -> None:
    batch = batch_with(new("a", range(4), (0,)), new("b", range(9), (1, 2, 3)))
    batch.expect(batch.select({"a": 4}))
    batch.expect(batch.select({"b": 3}))
    with pytest.raises(EngineError, match="request a: token 4 was scheduled before it was known"):
        batch.select({"a": 1})


def test_late_sample_keeps_placeholders_of_later_passes() -> None:
    batch = batch_with(new("a", range(4), (0, 1)))
    first = batch.expect(batch.select({"a": 4}))
    second = batch.expect(batch.select({"a": 1}))
    assert first.fill([70]) == {"a": (70,)}
    assert second.fill([71]) == {"a": (71,)}
    assert batch.select({"a": 1})[0].token_ids == [71]


def drafting(batch: InputBatch, request_id: str, computed: int, *draft: int) -> None:
    news = (CachedRequestData(request_id, (), computed),)
    batch.update(SchedulerOutput(step_id=2, cached_requests=news, drafts={request_id: draft}))


def test_every_draft_token_samples_at_its_position() -> None:
    batch = batch_with(new("a", range(100, 106), (5, 2, 4), computed=5, prompt_len=4), new("b", range(3), (7,)))
    drafting(batch, "a", 5, 8, 9)
    step = batch.build({"a": 3, "b": 3})
    assert step.input_ids.tolist() == [105, 8, 9, 0, 1, 2]
    assert step.positions.tolist() == [5, 6, 7, 0, 1, 2]
    assert step.attention.slot_mapping.tolist() == [9, 10, 11, 28, 29, 30]
    assert list(step.logits_rows) == [0, 1, 2, 5]
    assert [(row.position, row.produced) for row in step.sampling_rows] == [(6, 2), (7, 3), (8, 4), (3, 0)]


def test_accepted_draft_tokens_are_kept_and_others_dropped() -> None:
    batch = batch_with(new("a", range(4), (0, 1)), new("b", range(3), (2, 3)))
    before = batch.expect(batch.select({"a": 4, "b": 3}))
    drafting(batch, "a", 4, 71, 72)
    step = batch.select({"a": 3, "b": 1})
    assert [request.token_ids for request in step] == [[~0, 71, 72], [~1]]
    behind = batch.expect(step)
    assert before.fill([70, 80]) == {"a": (70,), "b": (80,)}
    drafting(batch, "b", 4)
    (other,) = batch.select({"b": 1})
    # Sample 3 follows the three rows of the draft.
    assert other.token_ids == [~3]
    assert behind.fill([71, 60, 73, 81]) == {"a": (71, 60), "b": (81,)}
    drafting(batch, "a", 6)
    (following,) = batch.select({"a": 1})
    assert (following.token_ids, following.context_len) == ([60], 6)


def test_draft_requires_blocks_and_last_token() -> None:
    batch = batch_with(new("a", range(4), (0,), computed=3), new("b", range(9), (1, 2, 3)))
    drafting(batch, "a", 3, 8)
    with pytest.raises(EngineError, match="request a: 1 blocks cannot hold 5 tokens"):
        batch.build({"a": 2})
    drafting(batch, "b", 0, 8)
    with pytest.raises(EngineError, match="request b: the scheduled draft does not follow"):
        batch.build({"b": 4})


def test_samples_of_dropped_request_do_not_change_successor() -> None:
    batch = batch_with(new("a", range(4), (0,)))
    expected = batch.expect(batch.select({"a": 4}))
    again = new("a", range(100, 104), (1,))
    batch.update(SchedulerOutput(step_id=2, dropped_request_ids=("a",), new_requests=(again,)))
    assert expected.fill([70]) == {"a": (70,)}
    assert batch.select({"a": 4})[0].token_ids == [100, 101, 102, 103]


def test_preempted_request_resumes_under_its_id_in_one_step() -> None:
    batch = batch_with(new("a", range(4), (0,)))
    batch.expect(batch.select({"a": 4})).fill([77])
    again = new("a", range(50, 57), (3, 2), computed=4, prompt_len=5)
    batch.update(SchedulerOutput(step_id=2, dropped_request_ids=("a",), new_requests=(again,)))
    step = batch.build({"a": 3})
    assert step.input_ids.tolist() == [54, 55, 56]
    assert step.attention.slot_mapping.tolist() == [8, 9, 10]
    assert (step.sampling_rows[0].position, step.sampling_rows[0].produced) == (7, 2)


def test_unknown_request_can_be_dropped() -> None:
    batch = batch_with(new("a", range(4), (0,)), new("b", range(4), (1,)))
    batch.update(SchedulerOutput(step_id=2, dropped_request_ids=("a", "unknown")))
    assert len(batch) == 1
    with pytest.raises(EngineError, match="request a "):
        batch.build({"a": 1})


def test_step_that_contradicts_batch_raises_with_request_id() -> None:
    with pytest.raises(EngineError, match="request a: tokens 0 to 5"):
        batch_with(new("a", range(4), (0, 1))).build({"a": 5})
    with pytest.raises(EngineError, match="request a: 1 blocks cannot hold 5 tokens"):
        batch_with(new("a", range(5), (0,))).build({"a": 5})
    with pytest.raises(EngineError, match="already"):
        batch_with(new("a", range(4), (0,)), new("a", range(4), (1,)))
    with pytest.raises(EngineError, match="request b "):
        batch_with().update(SchedulerOutput(step_id=2, cached_requests=(CachedRequestData("b", (), 4),)))
