"""Answers to the same request with its prefix on the device, from CPU memory, from Redis, and recomputed."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from app.load.client import Message, fixed_length
from app.load.words import plain_words
from bench import arms
from bench.plan import BLOCK_TOKENS
from bench.server import EbbServer, settle
from bench.stats import share
from bench.workbench import Workbench
from bench.workload import history

_PLACES = ("device", "cpu", "redis")


@dataclass(frozen=True, slots=True)
class ExactSample:
    """One greedy answer, requested when its prefix should be in `place`.

    device, cpu, redis, computed: the prompt's tokens by their real origin.
    """

    prompt: int
    place: str
    device: int
    cpu: int
    redis: int
    computed: int
    answer: str

    @property
    def cached(self) -> int:
        """Number of the prompt's tokens that were cached in any tier."""
        return self.device + self.cpu + self.redis

    @property
    def as_meant(self) -> bool:
        """Whether a cached prefix was found, all of it in `place`."""
        held = {"device": self.device, "cpu": self.cpu, "redis": self.redis}.get(self.place, 0)
        return 0 < held == self.cached


@dataclass(frozen=True, slots=True)
class ExactnessResult:
    """Result of the section. Shares are from 0 to 1, and answers are compared as text.

    compared: prompts whose prefix came entirely from each of device, CPU and Redis, with one cached length.
    cached_tokens: the cached lengths of those prompts.
    equal_across_tiers: share of those prompts whose three answers are identical; None if there are none.
    equal_to_computed: share of all prompts whose answer from Redis equals that of a server without reuse.
    """

    dtype: str
    answer_tokens: int
    prompts: int
    compared: int
    cached_tokens: tuple[int, ...]
    equal_across_tiers: float | None
    equal_to_computed: float
    samples: tuple[ExactSample, ...]


async def measure_exactness(bench: Workbench) -> ExactnessResult:
    """Measure each prompt in four states of its prefix.

    The prefix is recomputed, then restored from CPU memory after other prompts evicted it from the device, then found
    on the device, then restored from Redis after kill -9.
    """
    plan = bench.plan
    pool = plan.history_tokens * 3 // 2
    numbers = range(plan.exact_prompts)
    async with AsyncExitStack() as stack:
        off = await bench.launch(stack, arms.no_reuse(plan, pool))
        prompts = [await _one_past_a_block(bench, off, number) for number in numbers]
        samples = [await _ask(bench, off, prompts, number, "computed") for number in numbers]
        await off.stop()
        tiers = await bench.launch(stack, arms.with_all(plan, pool))
        for number in numbers:
            await _ask(bench, tiers, prompts, number, "first")
        await settle(tiers)
        for number in numbers:
            samples.append(await _ask(bench, tiers, prompts, number, "cpu"))
            samples.append(await _ask(bench, tiers, prompts, number, "device"))
        await settle(tiers)
        await bench.kill_and_restart(tiers)
        samples += [await _ask(bench, tiers, prompts, number, "redis") for number in numbers]
    return compare(samples, plan.dtype, plan.exact_tokens)


async def _one_past_a_block(bench: Workbench, server: EbbServer, number: int) -> list[Message]:
    """Build a prompt of whole blocks and one more token, the one that always has to be computed.

    With any other length, the device could have more cached than the tiers, which hold whole blocks only.
    """
    words = plain_words(2 * BLOCK_TOKENS, f"exact/{number}")
    past = history(bench.plan.history_words - len(words), f"exact/{number}")

    def ending_with(tail: list[str]) -> list[Message]:
        *before, last = past
        return [*before, {"role": "user", "content": " ".join([last["content"], *tail])}]

    probe = await server.client.chat(ending_with(words), fixed_length(1))
    return ending_with(words[: len(words) - (probe.prompt_tokens - 1) % BLOCK_TOKENS])


async def _ask(
    bench: Workbench, server: EbbServer, prompts: Sequence[list[Message]], number: int, place: str
) -> ExactSample:
    answer = await server.client.chat(prompts[number], fixed_length(bench.plan.exact_tokens))
    held = answer.tier_tokens()
    device, cpu, redis = (held.reused[tier] for tier in ("device", "cpu", "redis"))
    bench.say(
        f"exactness · {bench.plan.dtype} · prompt {number + 1} · {place} · {device} / {cpu} / "
        f"{redis} of {answer.prompt_tokens} tokens on device / CPU / Redis · "
        f"TTFT {answer.ttft * 1000:.0f} ms"
    )
    return ExactSample(number, place, device, cpu, redis, held.computed, answer.text)


def compare(samples: Sequence[ExactSample], dtype: str, answer_tokens: int) -> ExactnessResult:
    """Compare the answers. Pure."""
    found = {(sample.prompt, sample.place): sample for sample in samples}
    prompts = sorted({sample.prompt for sample in samples})
    cached: list[int] = []
    equal: list[bool] = []
    for prompt in prompts:
        three = [found[prompt, place] for place in _PLACES]
        if all(sample.as_meant for sample in three) and len({sample.cached for sample in three}) == 1:
            cached.append(three[0].cached)
            equal.append(len({sample.answer for sample in three}) == 1)
    return ExactnessResult(
        dtype=dtype,
        answer_tokens=answer_tokens,
        prompts=len(prompts),
        compared=len(equal),
        cached_tokens=tuple(cached),
        equal_across_tiers=share(equal) if equal else None,
        equal_to_computed=share([found[p, "redis"].answer == found[p, "computed"].answer for p in prompts]),
        samples=tuple(samples),
    )
