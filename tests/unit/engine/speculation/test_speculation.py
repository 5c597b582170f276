"""Drafts guessed from a request's own tokens, and the decision whether a draft pays off."""

from dataclasses import replace

import pytest

from engine.api.sampling_params import SamplingParams
from engine.block_tables.block_manager import BlockManager
from engine.kv.block_pool import BlockPool
from engine.request.request import Request
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.speculation.draft_cost import PlainStep
from engine.speculation.guess import Guess
from engine.speculation.ngram_index import MAX_PLACES, NgramIndex
from engine.speculation.prompt_lookup import FIRST_CHANCE, MAX_INDEXED, PromptLookup
from engine.speculation.speculation import LONGEST_DRAFT, PROMPTS_PART, Speculation, verify
from tests.unit.scheduling_rig import ROOT

STEP = 0.01
PLAIN = PlainStep(STEP)


@pytest.mark.parametrize(
    ("draft", "sampled", "stand"),
    [
        ((), (7,), (7,)),
        ((7, 8), (7, 8, 9), (7, 8, 9)),
        ((7, 8), (7, 5, 9), (7, 5)),
        ((7, 8), (6, 8, 9), (6,)),
    ],
)
def test_draft_is_accepted_up_to_first_different_token(
    draft: tuple[int, ...], sampled: tuple[int, ...], stand: tuple[int, ...]
) -> None:
    assert verify(draft, sampled) == stand


def index_of(*tokens: int) -> NgramIndex:
    index = NgramIndex(100)
    index.extend(tokens)
    return index


def test_longest_and_then_latest_match_is_found() -> None:
    assert index_of(1, 2, 3, 4, 50, 9, 3, 4, 60, 8, 1, 2, 3, 4).find() == 4
    assert index_of(1, 2, 3, 4, 50, 1, 2, 3, 4, 60, 1, 2, 3, 4).find() == 9
    assert index_of(0, 0, 3, 4, 50, 9, 9, 3, 4, 60, 8, 7, 3, 4).find() == 9
    assert index_of(1, 2, 3, 4, 5, 6, 7, 4).find() == 0


def test_index_of_long_text_is_bounded_and_finds_its_end() -> None:
    index = NgramIndex(1 << 30)
    index.extend(at * at % 50_021 for at in range(2 * MAX_PLACES))
    index.extend([60_001, 60_002, 60_003, 60_004, 1, 60_001, 60_002, 60_003, 60_004])
    assert index.find() == 2 * MAX_PLACES + 4
    assert len(index._table) == MAX_PLACES


def asking(prompt: list[int], max_tokens: int = 100, name: str = "r") -> Request:
    sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens, seed=0)
    return Request(
        request_id=name,
        tenant="local",
        prompt_token_ids=tuple(prompt),
        sampling=sampling,
        root_key=ROOT,
        block_keys=[],
        arrival=0.0,
    )


def say(request: Request, *tokens: int) -> None:
    """Append sampled tokens. The last one is not computed yet."""
    request.output_token_ids.extend(tokens)
    request.num_computed_tokens = request.num_tokens - 1


TEXT = list(range(100, 140))


def test_earlier_continuation_is_proposed_after_unknown_tokens() -> None:
    lookup, request = PromptLookup(), asking([1, 2, *TEXT, 1])
    say(request, *TEXT[:3])
    assert list(lookup.propose(request, 0, 4).token_ids) == TEXT[3:7]
    assert list(lookup.propose(request, 2, 4).token_ids) == TEXT[5:9]
    say(request, 55)
    assert list(lookup.propose(request, 0, 4).token_ids) == []


def test_repeating_text_is_proposed_to_repeat() -> None:
    lookup, request = PromptLookup(), asking([9, 8])
    say(request, 1, 2, 3, 1, 2, 3, 1)
    assert list(lookup.propose(request, 0, 7).token_ids) == [2, 3, 1, 2, 3, 1, 2]


def test_chance_follows_every_sampled_token() -> None:
    lookup, request = PromptLookup(), asking([*TEXT, 1, 2])
    say(request, 7)
    assert lookup.propose(request, 0, 4).chance == FIRST_CHANCE
    for token in TEXT[:20]:
        say(request, token)
        chance = lookup.propose(request, 0, 4).chance
    assert chance > 0.85
    for at in range(12):
        say(request, TEXT[2 * at], TEXT[2 * at + 1], 1000 + at)
    assert lookup.propose(request, 0, 4).chance < 0.25


def test_long_prompt_is_indexed_piecewise() -> None:
    lookup, request = PromptLookup(), asking([*range(3 * MAX_INDEXED), *TEXT, 1])
    say(request, *TEXT[:6])
    said = [bool(lookup.propose(request, 0, 4).token_ids) for _ in range(5)]
    assert said == [False, False, False, True, True]


class Sure:
    """A proposer with the same draft for every request, and a given chance that a guess is right."""

    def __init__(self, chance: float) -> None:
        self.is_right = chance

    def propose(self, request: Request, behind: int, most: int) -> Guess:
        return Guess([1] * most, self.is_right, "prompt")


def speculation(chance: float, num_blocks: int = 100) -> Speculation:
    return Speculation(Sure(chance), BlockManager(BlockPool(num_blocks), 4, 1, prefix_cache=True), most_rows=512)


def decoding(count: int) -> list[Request]:
    requests = [asking([1, 2], name=f"r{number}") for number in range(count)]
    for request in requests:
        say(request, 3)
    return requests


def drafted(chance: float, streams: int = 1) -> int:
    """Count the tokens of all drafts."""
    return sum(map(len, speculation(chance).plan(decoding(streams), PLAIN).drafts.values()))


def test_draft_length_grows_with_chance_from_zero() -> None:
    lengths = [drafted(chance) for chance in (0.1, 0.5, 0.7, 0.95)]
    assert lengths == sorted(lengths)
    assert lengths[0] == 0 < lengths[1] < lengths[-1] == LONGEST_DRAFT


def test_rows_cost_more_with_more_streams() -> None:
    assert drafted(0.6, streams=16) < 16 * drafted(0.6, streams=2) // 2


def compute(costs: Speculation, now: float, seconds: float, *, streams: int, length: int) -> float:
    """Note a step that begins at `now`, with a draft of `length` rows for each stream. Return when the step ends."""
    drafts = {f"r{at}": (1,) * length for at in range(streams)}
    step = SchedulerOutput(step_id=0, num_scheduled_tokens=dict.fromkeys(drafts, 1 + length), drafts=drafts)
    costs.on_computed(step, ModelRunnerOutput(step_id=0, sampled_token_ids={}, started=now, ended=now + seconds), PLAIN)
    return now + seconds


def teach(costs: Speculation, row: float, wait: float, steps: int = 20) -> None:
    """Note steps with a draft of two rows. Each row takes `row` seconds, and a pause of `wait` seconds follows."""
    now = 0.0
    for _ in range(steps):
        now = compute(costs, now, STEP + 2 * row, streams=1, length=2) + wait


def test_drafts_are_short_while_prompts_are_computed() -> None:
    planner, running = speculation(0.9), decoding(2)
    alone = planner.plan(running, PLAIN).drafts
    alongside = planner.plan(running, PLAIN, prompt_rows=64).drafts
    assert sum(map(len, alone.values())) > sum(map(len, alongside.values())) == 64 // PROMPTS_PART
    assert not planner.plan(running, PLAIN, prompt_rows=0).drafts


@pytest.mark.parametrize(("row", "wait"), [(STEP, 0.0), (0.0, 10 * STEP)])
def test_drafts_stop_while_they_cost_more_than_they_save(row: float, wait: float) -> None:
    costly = speculation(0.7)
    assert costly.plan(decoding(1), PLAIN).drafts
    teach(costly, row, wait)
    assert not costly.plan(decoding(1), PLAIN).drafts
    # A cost learned on a busy machine does not prevent drafts forever.
    assert any(costly.plan(decoding(1), PLAIN).drafts for _ in range(500))


def test_cost_of_drafts_is_not_taken_for_that_of_their_rows() -> None:
    planner, running, now = speculation(0.95), decoding(16), 0.0
    for length in (1, 2, 1, 1, 4, 1, 1):
        # Each draft costs as much as a token is worth, its rows hardly anything.
        now = compute(planner, now, STEP * (1 + 16 * (1 / 24 + length / 1000)), streams=16, length=length)
    assert [len(draft) for draft in planner.plan(running, PLAIN).drafts.values()] == [LONGEST_DRAFT] * 16
    unlikely = Speculation(Sure(0.5), planner._blocks, most_rows=512)
    unlikely._cost = planner._cost
    assert not unlikely.plan(running, PLAIN).drafts


def test_costly_drafts_are_noticed_after_cheap_ones() -> None:
    planner, running = speculation(0.6), decoding(16)
    teach(planner, row=0.0, wait=0.0, steps=200)
    assert planner.plan(running, PLAIN).drafts
    now = 1000.0
    for _ in range(8):
        now = compute(planner, now, 4 * STEP, streams=16, length=2)
    assert not planner.plan(running, PLAIN).drafts


def test_first_rows_cost_as_much_as_prompt_tokens() -> None:
    cheap, dear = PlainStep(STEP, token_seconds=STEP / 1000), PlainStep(STEP, token_seconds=STEP / 8)
    assert speculation(0.9).plan(decoding(16), cheap).drafts
    assert not speculation(0.9).plan(decoding(16), dear).drafts


def test_no_draft_before_step_time_is_known() -> None:
    assert not speculation(0.9).plan(decoding(1), None).drafts


def test_draft_ends_one_token_before_max_tokens() -> None:
    [request] = decoding(1)
    request.sampling = replace(request.sampling, max_tokens=4)
    assert [len(draft) for draft in speculation(0.9).plan([request], PLAIN).drafts.values()] == [2]
    request.sampling = replace(request.sampling, max_tokens=2)
    assert not speculation(0.9).plan([request], PLAIN).drafts


def test_draft_takes_only_free_blocks() -> None:
    assert speculation(0.9, num_blocks=4).plan(decoding(1), PLAIN).drafts
    assert not speculation(0.9, num_blocks=3).plan(decoding(1), PLAIN).drafts


def test_single_passes_are_needed_only_near_a_draft() -> None:
    for chance, is_near in ((0.9, True), (0.4, False)):
        assert speculation(chance).plan(decoding(1), PLAIN).is_near is is_near
