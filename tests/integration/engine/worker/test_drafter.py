"""Tokens that a draft model reads: each one once, also where requests share blocks or come back."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.request.scheduler_output import DraftWork, NewRequestData
from engine.worker.drafter import MOST_READ
from tests.integration.worker_driver import BLOCK, GREEDY, WorkerDriver, engine_config
from tests.tiny_models import make_tiny_model

PROMPT = tuple(5 + at * 7 % 200 for at in range(100))
OTHER = tuple(5 + at * 11 % 200 for at in range(100))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("drafter") / "model")


@pytest.fixture
def driver(model: Path) -> WorkerDriver:
    return WorkerDriver(model, config=engine_config(model).with_fields(draft_model=model), num_blocks=128)


class Stream:
    """One request, step by step."""

    def __init__(
        self, driver: WorkerDriver, name: str, prompt: Sequence[int], first_block: int = 0, computed: int = 0
    ) -> None:
        """Compute the prompt, whose first `computed` tokens are in the blocks, and the first token of the answer."""
        self.driver, self.name, self.tokens = driver, name, list(prompt)
        blocks = tuple(range(first_block, first_block + (len(prompt) + 40) // BLOCK + 1))
        new = NewRequestData(name, tuple(prompt), len(prompt), blocks, computed, GREEDY)
        result = driver.run(driver.plan({name: len(prompt) - computed}, new=[new]))
        self.tokens += result.sampled_token_ids[name]

    def draft(self, most: int) -> DraftWork:
        """Compute a step with a draft."""
        step = self.driver.plan({self.name: 1}, cached={self.name: len(self.tokens) - 1})
        result = self.driver.run(replace(step, to_draft={self.name: most}))
        self.tokens += result.sampled_token_ids[self.name]
        assert result.draft_work is not None
        return result.draft_work

    def drop(self) -> None:
        self.driver.run(self.driver.plan(dropped=[self.name]))


def test_draft_model_reads_each_token_once(driver: WorkerDriver) -> None:
    stream = Stream(driver, "r", PROMPT)
    work = stream.draft(4)
    assert (work.num_drafted, work.passes, work.rows) == ({"r": 4}, 4, 101 + 3)
    assert len(stream.tokens) == 106
    # Three of the four guesses, all of them right, have been read.
    assert stream.draft(3).rows == 2 + 2
    assert stream.draft(1).rows == 2


def test_tokens_between_drafts_are_read_together(driver: WorkerDriver) -> None:
    stream = Stream(driver, "r", PROMPT)
    stream.draft(2)
    for _ in range(5):
        step = driver.plan({"r": 1}, cached={"r": len(stream.tokens) - 1})
        stream.tokens += driver.run(step).sampled_token_ids["r"]
    assert stream.draft(2).rows == 1 + 1 + 5 + 1


def test_wrong_guesses_are_read_over(model: Path, tmp_path: Path) -> None:
    other = make_tiny_model(tmp_path / "other", seed=4)
    driver = WorkerDriver(model, config=engine_config(model).with_fields(draft_model=other))
    stream = Stream(driver, "r", PROMPT)
    stream.draft(4)
    num_right = len(stream.tokens) - 102
    assert num_right < 3
    for _ in range(5):
        step = driver.plan({"r": 1}, cached={"r": len(stream.tokens) - 1})
        stream.tokens += driver.run(step).sampled_token_ids["r"]
    num_unread = len(stream.tokens) - 101 - num_right
    assert stream.draft(1).rows == num_unread == 6


def test_shared_prefix_is_not_read_again(driver: WorkerDriver) -> None:
    first = Stream(driver, "a", PROMPT)
    first.draft(2)
    first.drop()
    shared = 6 * BLOCK
    again = Stream(driver, "b", (*PROMPT[:shared], 7, 8, 9), computed=shared)
    assert again.draft(2).rows == 4 + 1
    again.drop()
    assert Stream(driver, "c", OTHER).draft(2).rows == 101 + 1


@pytest.mark.parametrize("between", [100, 5])
def test_other_text_in_the_blocks_is_read(between: int, driver: WorkerDriver) -> None:
    for name, prompt in (("a", PROMPT), ("b", OTHER[:between]), ("c", PROMPT)):
        stream = Stream(driver, name, prompt)
        assert stream.draft(3).rows == len(prompt) + 1 + 2
        assert len(stream.tokens) == len(prompt) + 5
        stream.drop()


def test_long_prompt_is_read_in_several_steps(driver: WorkerDriver) -> None:
    stream = Stream(driver, "r", PROMPT * 7)
    drafted = [stream.draft(2) for _ in range(3)]
    assert [work.num_drafted["r"] for work in drafted] == [0, 2, 2]
    assert [work.rows for work in drafted] == [MOST_READ, 702 - MOST_READ + 1, 2 + 1]


def test_drafts_of_different_lengths_share_passes(driver: WorkerDriver) -> None:
    streams = [Stream(driver, name, prompt, block) for name, prompt, block in (("a", PROMPT, 0), ("b", OTHER, 20))]
    step = driver.plan({"a": 1, "b": 1}, cached={stream.name: len(stream.tokens) - 1 for stream in streams})
    result = driver.run(replace(step, to_draft={"a": 2, "b": 5}))
    assert result.draft_work is not None
    assert (result.draft_work.passes, result.draft_work.num_drafted) == (5, {"a": 2, "b": 5})
    assert {name: len(tokens) for name, tokens in result.sampled_token_ids.items()} == {"a": 3, "b": 6}


def test_draft_model_with_a_shorter_window_stops_there(model: Path, tmp_path: Path) -> None:
    short = make_tiny_model(tmp_path / "short", max_positions=104)
    driver = WorkerDriver(model, config=engine_config(model).with_fields(draft_model=short))
    stream = Stream(driver, "r", PROMPT)
    assert stream.draft(8).num_drafted == {"r": 3}
    assert stream.draft(8).num_drafted == {"r": 0}


def test_guesses_beyond_the_vocabulary_end_a_draft(model: Path, tmp_path: Path) -> None:
    padded = make_tiny_model(tmp_path / "padded", vocab=2048, seed=4)
    driver = WorkerDriver(model, config=engine_config(model).with_fields(draft_model=padded))
    stream = Stream(driver, "r", PROMPT)
    assert sum(stream.draft(6).num_drafted["r"] for _ in range(5)) < 30
