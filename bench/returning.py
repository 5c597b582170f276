"""The next turn of a chat with a long history, and how much the tiers reduce its time to the first token."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from app.load.client import Message, fixed_length
from bench import arms
from bench.server import EbbServer, settle
from bench.stats import median
from bench.workbench import Workbench
from bench.workload import history, passage

_EVICTORS = 2
_ANSWER_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Return:
    """One measurement. device, cpu, disk and computed count the prompt's tokens by the origin of their KV."""

    ttft_ms: float
    prompt_tokens: int
    device: int
    cpu: int
    disk: int
    computed: int
    restore_ms: float


@dataclass(frozen=True, slots=True)
class Round:
    """The three measurements of one chat, at most minutes apart.

    ready_after_kill_s: seconds from the restart until the server was ready.
    """

    no_reuse: Return
    from_cpu: Return
    from_disk: Return
    ready_after_kill_s: float


@dataclass(frozen=True, slots=True)
class ReturningResult:
    """Medians over the rounds in milliseconds, and their ratios.

    cpu_ratio, disk_ratio: how many times lower the TTFT is than without reuse.
    """

    rounds: tuple[Round, ...]
    no_reuse_ms: float
    from_cpu_ms: float
    from_disk_ms: float
    cpu_ratio: float
    disk_ratio: float


async def measure_returning(bench: Workbench) -> ReturningResult:
    """Measure rounds of: no reuse, from CPU, kill -9, from the disk. The device pool holds one and a half chats."""
    plan = bench.plan
    pool = plan.history_tokens * 3 // 2
    async with AsyncExitStack() as stack:
        off = await bench.launch(stack, arms.no_reuse(plan, pool))
        tiers = await bench.launch(stack, arms.with_all(plan, pool))
        return summarise([await _round(bench, off, tiers, number) for number in range(plan.rounds)])


async def _round(bench: Workbench, off: EbbServer, tiers: EbbServer, number: int) -> Round:
    plan = bench.plan
    past = history(plan.history_words, f"returning/{number}")
    said = await tiers.client.chat(past, fixed_length(_ANSWER_TOKENS))
    past.append({"role": "assistant", "content": said.text})
    await _evict(bench, tiers)
    # Each measurement asks a different question, because the tiers would also hold an earlier one.
    asked = [passage(plan.question_words, f"returning/{number}/{arm}") for arm in ("off", "cpu", "disk")]
    no_reuse = await _return(off, past, asked[0])
    from_cpu = await _return(tiers, past, asked[1])
    await settle(tiers)
    ready = await bench.kill_and_restart(tiers)
    from_disk = await _return(tiers, past, asked[2])
    bench.say(
        f"returning turn {number + 1} of {plan.rounds} · {no_reuse.prompt_tokens} tokens · no reuse "
        f"{no_reuse.ttft_ms:.0f} ms · CPU {from_cpu.ttft_ms:.0f} ms · disk {from_disk.ttft_ms:.0f} ms"
    )
    return Round(no_reuse, from_cpu, from_disk, ready)


async def _evict(bench: Workbench, server: EbbServer) -> None:
    for other in range(_EVICTORS):
        await server.client.chat(history(bench.plan.history_words, f"evictor/{other}"), fixed_length(_ANSWER_TOKENS))
    await settle(server)


async def _return(server: EbbServer, past: list[Message], asked: str) -> Return:
    answer = await server.client.chat([*past, {"role": "user", "content": asked}], fixed_length(_ANSWER_TOKENS))
    tokens = answer.tier_tokens()
    return Return(
        ttft_ms=answer.ttft * 1000,
        prompt_tokens=answer.prompt_tokens,
        **{tier: tokens.reused[tier] for tier in ("device", "cpu", "disk")},
        computed=tokens.computed,
        restore_ms=tokens.restore_ms,
    )


def summarise(rounds: list[Round]) -> ReturningResult:
    """Compute the medians and their ratios. Pure."""
    off = median([each.no_reuse.ttft_ms for each in rounds])
    cpu = median([each.from_cpu.ttft_ms for each in rounds])
    disk = median([each.from_disk.ttft_ms for each in rounds])
    return ReturningResult(tuple(rounds), off, cpu, disk, off / cpu, off / disk)
