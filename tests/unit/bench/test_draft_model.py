"""The benchmark of a draft model: guesses that are right at a given rate."""

from bench.draft_model import Row, _guided, to_markdown
from engine.api.sampling_params import SamplingParams
from engine.worker.batch.input_batch import RequestState

PROMPT = [7, 8, 9]
ANSWER = tuple(range(100, 400))


def right(rate: float, first: int = 0, count: int = 300) -> int:
    """Count the right ones of `count` guesses after the first `first` tokens of the answer."""
    state = RequestState(
        token_ids=[*PROMPT, *ANSWER[:first]],
        prompt_len=len(PROMPT),
        block_ids=[],
        num_computed_tokens=0,
        sampling=SamplingParams(),
        adjustments=None,
    )
    guesses = _guided({tuple(PROMPT): ANSWER}, state, count, rate)
    assert len(guesses) == count
    return sum(guess == token for guess, token in zip(guesses, ANSWER[first:], strict=False))


def test_guesses_are_right_at_the_rate_and_end_with_the_answer() -> None:
    assert (right(1.0), right(0.0)) == (300, 0)
    assert 190 < right(0.7) < 230
    assert right(1.0, first=298, count=5) == 2


def test_row_needs_its_ratio_and_the_same_texts() -> None:
    pairs = [(10.0, 16.0), (10.0, 14.0), (10.0, 17.0)]
    row = Row(0.7, pairs, 100, 70, same=True)
    assert "| 70% | 10.0 | 16.0 | 1.60 | 1.40 to 1.70 | 1.50 | met | 100 | 70 | yes |" in to_markdown([row])
    assert not Row(0.7, pairs, 100, 70, same=False).met
    assert not Row(0.9, pairs, 100, 90, same=True).met
