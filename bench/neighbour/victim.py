"""The well-behaved tenant that is measured: a few chats with pauses between their turns."""

import asyncio
import random
from dataclasses import dataclass, field

import aiohttp

from app.load.answer import RequestFailedError, StreamBrokenError
from app.load.client import LoadClient, fixed_length
from bench.neighbour.plan import NeighbourPlan
from bench.workload import WorkloadShape, make_chats


@dataclass(slots=True)
class Samples:
    """Everything that the victim saw in the windows of one kind."""

    ttft: list[float] = field(default_factory=list)
    """Seconds to the first text of each turn."""
    gaps: list[float] = field(default_factory=list)
    """Seconds between the events of the answers."""
    cached: int = 0
    prompt: int = 0
    errors: list[str] = field(default_factory=list)


async def run_victim(
    client: LoadClient, plan: NeighbourPlan, samples: Samples, window: int, end: asyncio.Event
) -> None:
    """Talk in `plan.victim_chats` chats until `end` is set, and note each turn that began before that."""
    async with asyncio.TaskGroup() as group:
        for number in range(plan.victim_chats):
            group.create_task(_chat(client, plan, samples, f"{plan.seed}/{window}/{number}", end))


async def _chat(client: LoadClient, plan: NeighbourPlan, samples: Samples, name: str, end: asyncio.Event) -> None:
    rng, conversation = random.Random(name), 0
    while not end.is_set():
        conversation += 1
        seed = rng.getrandbits(30)
        shape = WorkloadShape(1, plan.victim_turns, plan.question_words, plan.question_words, seed=seed)
        script, answers = make_chats(shape)[0], list[str]()
        while len(answers) < plan.victim_turns:
            if await _over(end, rng.expovariate(1 / plan.victim_pause)):
                return
            try:
                answer = await client.chat(script.messages(answers), fixed_length(plan.answer_tokens))
            except (RequestFailedError, StreamBrokenError, aiohttp.ClientError) as error:
                samples.errors.append(f"{type(error).__name__}: {error}")
                break
            answers.append(answer.text)
            samples.ttft.append(answer.ttft)
            samples.gaps.extend(answer.gaps)
            if answer.usage is not None and len(answers) > 1:
                samples.cached += answer.usage.cached_tokens or 0
                samples.prompt += answer.usage.prompt_tokens


async def _over(end: asyncio.Event, seconds: float) -> bool:
    """Wait for `seconds`, or for the end of the window; return whether that came first."""
    try:
        await asyncio.wait_for(end.wait(), seconds)
    except TimeoutError:
        return False
    return True
