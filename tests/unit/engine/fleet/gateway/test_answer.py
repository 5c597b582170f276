"""One answer over several replicas."""

from collections import Counter
from dataclasses import replace

import pytest

from engine.api.generate_request import GenerateRequest
from engine.api.outputs import PromptProgress
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from engine.fleet.gateway.answer import MAX_FRUITLESS, RemoteAnswer
from engine.fleet.wire.messages import Begun, End, Output

BEGUN = Begun(SamplingParams(seed=5, max_tokens=10, prompt_logprobs=1), "", "")
ASKED = GenerateRequest(
    prompt_token_ids=[1, 2, 3], params=SamplingParams(max_tokens=10, prompt_logprobs=1), urgency=Urgency(timeout=60.0)
)
STOP = End("stop", None, None, None, None, None)


def accepted(request: GenerateRequest = ASKED) -> RemoteAnswer:
    answer = RemoteAnswer(request_id="a", request=request, choice=0, abort=lambda _: None, on_end=lambda _: None)
    answer.accept(BEGUN)
    return answer


def output(at: int, *ids: int, end: End | None = None) -> Output:
    return Output(0, at, ids, "".join(f" w{each}" for each in ids), end=end)


async def test_next_replica_continues_after_last_token() -> None:
    answer = accepted()
    assert answer.continuation().produced == ()
    answer.take(output(0, 7, 8))
    answer.lose_replica(1)
    request = answer.in_time(answer.continuation())
    assert (request.prompt_token_ids, request.produced) == ([1, 2, 3], (7, 8))
    # The seed is the one that the first replica drew, and the prompt's probabilities have been delivered.
    assert (request.params.seed, request.params.prompt_logprobs) == (5, None)
    assert request.urgency.timeout is not None
    assert 0 < request.urgency.timeout <= 60
    answer.accept(replace_seed(9))
    assert answer.stream.params.seed == 5
    answer.take(output(2, 9, end=STOP))
    whole = await anext(answer.stream)
    assert (tuple(whole.token_ids), whole.text, whole.finish_reason) == ((7, 8, 9), " w7 w8 w9", "stop")


def replace_seed(seed: int) -> Begun:
    return Begun(replace(BEGUN.params, seed=seed), "", "")


@pytest.mark.parametrize("at", [0, 1, 3])
def test_token_that_is_lost_or_doubled_is_noticed(at: int) -> None:
    answer = accepted()
    answer.take(output(0, 7, 8))
    with pytest.raises(ValueError, match=f"an output for token {at} came at token 2"):
        answer.take(output(at, 9))


def test_answer_that_kills_replicas_in_a_row_is_given_up() -> None:
    answer = accepted()
    for epoch in range(MAX_FRUITLESS):
        assert answer.may_continue(), epoch
        answer.place()
        answer.lose_replica(epoch)
    assert not answer.may_continue()


@pytest.mark.parametrize("is_placed", [True, False])
def test_lost_connections_to_living_replicas_do_not_count(is_placed: bool) -> None:
    answer = accepted()

    def lose(epoch: int) -> None:
        if is_placed:
            answer.place()
            answer.lose_replica(epoch)
        else:
            answer.lose_admission(epoch)

    for _ in range(2 * MAX_FRUITLESS):
        lose(1)
    assert answer.may_continue()
    for epoch in range(2, 2 + MAX_FRUITLESS):
        lose(epoch)
    assert answer.may_continue(set(range(2, 2 + MAX_FRUITLESS)))
    assert not answer.may_continue({1})


def test_losses_at_admission_end_with_an_admission() -> None:
    answer = accepted()
    # The requests that a frozen replica has not read yet are innocent, and later losses should not end them.
    for epoch in range(2 * MAX_FRUITLESS):
        answer.lose_admission(epoch)
        assert answer.may_continue()
        answer.accept(BEGUN)


def test_answer_with_progress_is_never_given_up() -> None:
    gaining, waiting = accepted(), accepted()
    for at in range(2 * MAX_FRUITLESS):
        gaining.place()
        gaining.take(output(at, 7))
        gaining.lose_replica(at)
        waiting.lose_replica(at)
    assert gaining.may_continue()
    assert waiting.may_continue()


def test_queue_timeout_holds_until_the_first_place() -> None:
    request = replace(ASKED, urgency=Urgency())
    answer = RemoteAnswer(
        request_id="a", request=request, choice=0, abort=lambda _: None, on_end=lambda _: None, queue_timeout=5.0
    )
    assert answer.seconds_left is not None
    assert 0.0 < answer.seconds_left <= 5.0
    answer.accept(BEGUN)
    answer.place()
    answer.lose_replica(1)
    assert answer.seconds_left is None


def test_drained_replicas_do_not_count_as_dead() -> None:
    answer = accepted()
    for _ in range(2 * MAX_FRUITLESS):
        answer.place()
        answer.leave_replica()
    assert answer.may_continue()


def test_context_of_an_answer_ends_with_its_last_token() -> None:
    answer = accepted()
    assert answer.context() is None
    answer.take(output(0, 7, 8))
    context = answer.context()
    assert context is not None
    assert (context.prompt_token_ids, context.params.max_tokens) == ([1, 2, 3, 7, 8], 1)
    assert accepted(replace(ASKED, keep_kv=False)).context() is None


async def test_answer_ends_once() -> None:
    ended: list[str] = []
    answer = RemoteAnswer(request_id="a", request=ASKED, choice=0, abort=lambda _: None, on_end=ended.append)
    answer.accept(BEGUN)
    answer.abort_here()
    answer.fail("too late")
    assert (await anext(answer.stream)).finish_reason == "abort"
    with pytest.raises(StopAsyncIteration):
        await anext(answer.stream)
    assert ended == ["a"]


def progress(done: int) -> PromptProgress:
    return PromptProgress(9, done, Counter(), "computing", 1.0, None)


async def test_progress_of_next_replica_is_passed_on_once_it_is_ahead() -> None:
    answer = accepted(replace(ASKED, progress_every=0.0))
    answer.take(reports(0, 4))
    answer.lose_replica(1)
    assert answer.continuation().progress_every == 0.0
    answer.take(reports(0, 2))
    answer.take(reports(6, 8))
    answer.take(output(0, 7))
    assert [report.done for report in (await anext(answer.stream)).progress] == [0, 4, 6, 8]
    # The answer has begun, so its reader follows the text.
    assert answer.continuation().progress_every is None


def reports(*done: int) -> Output:
    return Output(0, 0, (), "", progress=tuple(map(progress, done)))
