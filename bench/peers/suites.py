"""Measurements of one server: the same requests, counted in the same way, for every make."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.load.answer import Answer, StreamBrokenError
from app.load.client import Generation, LoadClient
from app.load.rates import steady_rate
from app.observability.percentiles import percentile
from bench.peers.plan import MixedPlan, TurnsPlan
from bench.peers.prompts import PromptMaker, make_chats
from bench.stats import median

FixedLength = Callable[[int], Generation]
"""Function that makes a request for exactly the given number of tokens, in which an end is never sampled."""
Pin = Callable[[int], Mapping[str, object]]
"""Function from a stream's number to additional fields of its requests, which assign it to the best slot."""


@dataclass(frozen=True, slots=True)
class MixedResult:
    """Result of the mixed load.

    tokens_per_second: tokens of all answers.
    itl_p99: p99 inter-token latency of the streams, in ms.
    arrivals_ttft: mean TTFT of the arrivals, in ms.
    """

    tokens_per_second: float
    itl_p99: float
    arrivals_ttft: float


async def measure_decode(
    client: LoadClient,
    make: PromptMaker,
    *,
    streams: int,
    prompt_tokens: int,
    tokens: int,
    pin: Pin,
    seed: str,
    prefilled: bool = False,
) -> float:
    """Measure tokens per second of `streams` answers that decode together.

    Time counts from the last first token to the first end, so no prefill is in it.

    prefilled: send each prompt once before, so that every server has its KV.
    """
    prompts = [make.words(prompt_tokens, f"{seed}/{stream}") for stream in range(streams)]
    if prefilled:
        for stream, prompt in enumerate(prompts):
            await _generate(client, prompt, 1, pin(stream))
    answers = await asyncio.gather(
        *(_generate(client, prompt, tokens, pin(stream)) for stream, prompt in enumerate(prompts))
    )
    return steady_rate(answers)


async def measure_ttft(
    client: LoadClient, make: PromptMaker, *, tokens: int, repeats: int, seed: str
) -> tuple[float, float]:
    """Measure the milliseconds to the first token of a new prompt, and of the same prompt again.

    Both are medians over `repeats` prompts.
    """
    cold, hit = [], []
    for repeat in range(repeats):
        prompt = make.words(tokens, f"{seed}/{repeat}")
        cold.append(await _first_token(client, prompt))
        hit.append(await _first_token(client, prompt))
    return median(cold) * 1e3, median(hit) * 1e3


async def measure_mixed(client: LoadClient, make: PromptMaker, plan: MixedPlan, pin: Pin, seed: str) -> MixedResult:
    """Decode streams while prompts of different lengths arrive at fixed times, which no slow answer delays."""
    prompts = [make.words(plan.stream_prompt, f"{seed}/stream/{stream}") for stream in range(plan.streams)]
    streams = [
        asyncio.create_task(_generate(client, prompt, plan.stream_tokens, pin(stream)))
        for stream, prompt in enumerate(prompts)
    ]
    try:
        async with asyncio.TaskGroup() as group:
            arrivals = []
            for number, length in enumerate(plan.arrivals):
                await asyncio.sleep(plan.interval)
                prompt = make.words(length, f"{seed}/arrival/{number}")
                fields = pin(plan.streams + number)
                arrivals.append(group.create_task(_generate(client, prompt, plan.arrival_tokens, fields)))
        return mixed_result(await asyncio.gather(*streams), [arrival.result() for arrival in arrivals])
    finally:
        for stream in streams:
            stream.cancel()


def mixed_result(streams: Sequence[Answer], arrivals: Sequence[Answer]) -> MixedResult:
    """Aggregate a mixed load. Gaps count from the arrival of the first prompt. Pure."""
    everyone = [*streams, *arrivals]
    began, ended = min(each.sent for each in everyone), max(each.sent + each.total for each in everyone)
    first_arrival = min(each.sent for each in arrivals)
    gaps = [
        gap
        for stream in streams
        for at, gap in zip(stream.text_times[1:], stream.gaps, strict=True)
        if stream.sent + at > first_arrival
    ]
    return MixedResult(
        tokens_per_second=sum(each.tokens for each in everyone) / (ended - began),
        itl_p99=percentile(gaps, 99) * 1e3,
        arrivals_ttft=sum(each.ttft for each in arrivals) / len(arrivals) * 1e3,
    )


async def measure_turns(
    client: LoadClient, make: PromptMaker, plan: TurnsPlan, fixed_length: FixedLength, seed: str
) -> list[float]:
    """Return the mean milliseconds to the first token of each turn, with one request at a time."""
    chats = make_chats(
        make,
        chats=plan.chats,
        system_tokens=plan.system_tokens,
        question_tokens=plan.question_tokens,
        answer_tokens=plan.answer_tokens,
        seed=seed,
    )
    means = []
    for _ in range(plan.turns):
        times = []
        for chat in chats:
            answer = await client.complete(chat.ask(), fixed_length(plan.answer_tokens))
            _check_length(answer, plan.answer_tokens)
            chat.answered(answer.text)
            times.append(answer.ttft)
        means.append(sum(times) / len(times) * 1e3)
    return means


async def warm_up(client: LoadClient, make: PromptMaker, streams: int, seed: str) -> None:
    """Send short requests before a measurement.

    One-time costs of libraries, and caches that a suspended process lost, are then not part of the result.
    """
    await asyncio.gather(*(_generate(client, make.words(16, f"{seed}/{stream}"), 4, {}) for stream in range(streams)))


async def _generate(client: LoadClient, prompt: Sequence[int], tokens: int, fields: Mapping[str, object]) -> Answer:
    answer = await client.complete(prompt, Generation(tokens, extra=fields))
    _check_length(answer, tokens)
    return answer


async def _first_token(client: LoadClient, prompt: Sequence[int]) -> float:
    return (await client.complete(prompt, Generation(1))).ttft


def _check_length(answer: Answer, tokens: int) -> None:
    if answer.tokens != tokens:
        raise StreamBrokenError(f"{tokens} tokens were requested, {answer.tokens} arrived")
