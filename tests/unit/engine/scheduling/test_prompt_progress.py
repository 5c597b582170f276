"""Reports of a prompt's progress, from the states of its request."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from cache_tiers.owners.block_key import BlockKey
from engine.api.outputs import KVReceipt, PromptProgress
from engine.api.sampling_params import SamplingParams
from engine.request.request import Request, RequestStatus
from engine.scheduling.prompt_progress import ProgressReports
from engine.scheduling.step_cost import StepCost


@dataclass
class Prompt:
    """A followed request whose prompt has 1,000 tokens."""

    every: float = 0.0
    produced: tuple[int, ...] = ()
    now: float = 10.0
    cost: StepCost | None = None
    request: Request = field(init=False)
    reports: ProgressReports = field(init=False)

    def __post_init__(self) -> None:
        self.request = Request(
            request_id="r",
            tenant="t",
            prompt_token_ids=(7,) * 1000,
            sampling=SamplingParams(),
            root_key=BlockKey(b"0" * 32),
            block_keys=[],
            arrival=0.0,
        )
        self.request.output_token_ids = list(self.produced)
        self.reports = ProgressReports({"r": self.request}.get, lambda: self.now)
        self.reports.follow(self.request, self.every)

    def start(self, **reused: int) -> None:
        self.request.status = RequestStatus.RUNNING
        self.request.receipt = KVReceipt(reused=Counter(reused), computed=1000 - sum(reused.values()))
        self.request.restore_to(sum(reused.values()))
        self.request.started = self.request.started or self.now

    def compute(self, count: int, seconds: float) -> None:
        self.now += seconds
        self.request.confirm(count)

    def news(self) -> PromptProgress:
        report = self.report()
        assert report is not None
        return report

    def report(self) -> PromptProgress | None:
        outputs = self.reports.take(self.cost)
        if not outputs:
            return None
        [output] = outputs
        assert (output.request_id, output.text, output.token_ids, output.finish_reason) == ("r", "", (), None)
        [progress] = output.progress
        return progress


def test_steps_are_reported_from_cached_tokens_to_whole_prompt() -> None:
    prompt = Prompt()
    prompt.start(device=100, redis=300)
    seen = [prompt.report()]
    for _ in range(3):
        prompt.compute(200, seconds=2.0)
        if prompt.request.num_confirmed_tokens == 1000:
            prompt.request.append_token(5)
        seen.append(prompt.report())
    reports = [report for report in seen if report is not None]
    assert [report.done for report in reports] == [400, 600, 800, 1000]
    assert [report.seconds for report in reports] == [0.0, 2.0, 4.0, 6.0]
    assert [report.seconds_left for report in reports] == [None, 4.0, 2.0, 0.0]
    assert [report.computed for report in reports] == [0, 200, 400, 600]
    assert {(report.total, report.cached, report.state) for report in reports} == {(1000, 400, "computing")}
    assert reports[0].reused == {"device": 100, "redis": 300}
    assert not prompt.reports


def test_waiting_and_loading_are_reported_once_each() -> None:
    prompt = Prompt()
    waiting, again = prompt.report(), prompt.report()
    prompt.request.status = RequestStatus.LOADING
    loading = prompt.report()
    assert waiting == PromptProgress(1000, 0, Counter(), "waiting", 0.0, None)
    assert again is None
    assert loading is not None
    assert loading.state == "loading"


def test_reports_keep_their_distance_and_short_prompts_have_none() -> None:
    prompt = Prompt(every=0.5)
    prompt.start()
    times = list[float]()
    for _ in range(10):
        if prompt.report() is not None:
            times.append(round(prompt.now - 10.0, 1))
        prompt.compute(50, seconds=0.2)
    assert times == [0.6, 1.2, 1.8]
    short = Prompt(every=0.5)
    short.start()
    short.compute(1000, seconds=0.4)
    short.request.append_token(5)
    assert short.report() is None
    assert not short.reports


def test_preempted_prompt_never_falls_back() -> None:
    prompt = Prompt()
    prompt.start()
    prompt.report()
    prompt.compute(600, seconds=1.0)
    first = prompt.news()
    prompt.request.reset()
    prompt.request.status = RequestStatus.PREEMPTED
    waiting = prompt.news()
    prompt.start()
    computing = prompt.news()
    prompt.compute(400, seconds=1.0)
    behind = prompt.report()
    prompt.compute(400, seconds=1.0)
    ahead = prompt.news()
    states = [(report.state, report.done) for report in (first, waiting, computing, ahead)]
    assert states == [("computing", 600), ("waiting", 600), ("computing", 600), ("computing", 800)]
    assert behind is None
    # The time in the queue is no measure of the speed.
    assert ahead.seconds_left == pytest.approx(0.5)


def test_time_left_is_measured_without_tokens_loaded_later() -> None:
    prompt = Prompt()
    prompt.start()
    prompt.report()
    prompt.compute(100, seconds=1.0)
    prompt.report()
    prompt.start(redis=600)
    prompt.request.receipt = KVReceipt(reused=Counter(redis=500), computed=500)
    loaded = prompt.news()
    assert loaded.seconds_left is None
    prompt.compute(100, seconds=1.0)
    report = prompt.news()
    assert report.seconds_left == pytest.approx(3.0)


@dataclass
class Costs(StepCost):
    """Costs of a token and of each key before it, as a test gives them."""

    token: float
    key: float

    @property
    def token_seconds(self) -> float:
        return self.token

    @property
    def key_seconds(self) -> float:
        return self.key


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [
        (Costs(1.0, 0.0), 1.0),
        (Costs(1.0, 0.0004), 1.3 / 1.1),
        (Costs(1.0, 1.0), 1.375 / 1.125),
        (Costs(0.0, 1.0), 1.375 / 1.125),
    ],
    ids=repr,
)
def test_time_left_counts_that_later_tokens_are_slower(cost: StepCost, seconds: float) -> None:
    prompt = Prompt(cost=cost)
    prompt.start()
    prompt.report()
    prompt.compute(500, seconds=1.0)
    assert prompt.news().seconds_left == pytest.approx(seconds)


def test_tokens_of_another_process_belong_to_the_prompt() -> None:
    prompt = Prompt(produced=(1, 2, 3))
    prompt.start()
    report = prompt.news()
    assert (report.total, report.done) == (1003, 0)
    prompt.compute(1003, seconds=1.0)
    prompt.request.append_token(4)
    last = prompt.news()
    assert last.done == 1003


def test_request_that_ends_before_its_first_token_is_forgotten() -> None:
    ended = ProgressReports(lambda _: None, lambda: 0.0)
    ended.follow(Prompt().request, 0.0)
    assert ended.take(None) == []
    assert not ended
