"""An engine that promises short prefixes of one tenant while another tenant floods the disk, as its own process."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from cache_tiers.config import DiskConfig
from cache_tiers.disk.value_file import file_bytes
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import Usage
from engine.api.promise import PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, block_nbytes, engine_config

PREFIX_BLOCKS: Final = 2
FLOOD: Final = 10
"""Prompts of the flood for each promised prefix."""
_AT_ONCE: Final = 16
_SECONDS: Final = 12 * 3600.0
_STEP_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Place and size of a run.

    num_reserved: prefixes for which bytes are reserved.
    room: blocks that the disk takes.
    """

    model: str
    folder: str
    redis_url: str
    num_reserved: int
    room: int

    @property
    def block_bytes(self) -> int:
        """Bytes of a block on the disk."""
        return file_bytes(block_nbytes(Path(self.model)))

    @property
    def reserved_bytes(self) -> int:
        """Bytes that are reserved for the tenant."""
        return self.num_reserved * PREFIX_BLOCKS * self.block_bytes


@contextmanager
def opened(plan: Plan) -> Iterator[LLM]:
    """Open the engine of a plan."""
    config = engine_config(Path(plan.model), Path(plan.folder), blocks=256, redis_url=plan.redis_url)
    assert config.cache.tiers is not None
    disk = DiskConfig(Path(plan.folder) / "kv", plan.room * plan.block_bytes)
    tiers = replace(config.cache.tiers, disk=disk)
    # No client waits for a token, so steps are as large as they can be.
    scheduler = replace(config.scheduler, itl_target=_STEP_SECONDS)
    with LLM(replace(config, cache=replace(config.cache, tiers=tiers), scheduler=scheduler)) as llm:
        yield llm


def prefix(number: int) -> list[int]:
    """Return a prompt that fills its blocks, and begins like no other one."""
    head = [1000 + number % 20000, 1000 + number // 20000]
    return [*head, *(1000 + (number * 7919 + at * 104729) % 20000 for at in range(PREFIX_BLOCKS * BLOCK - 1))]


def batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield prefixes that are asked for at the same time."""
    for start in range(0, len(numbers), _AT_ONCE):
        yield numbers[start : start + _AT_ONCE]


def ask(llm: LLM, numbers: Sequence[int], tenant: str, promise: PromiseRequest | None = None) -> list[Usage]:
    """Ask for a token after each prefix. Return the usages."""
    params = SamplingParams(temperature=0.0, max_tokens=1)
    queued = [
        llm.engine.add_request(
            GenerateRequest(prompt_token_ids=prefix(number), params=params, tenant=tenant, promise=promise)
        ).request_id
        for number in numbers
    ]
    ended = llm._run(queued)
    usages = [ended[request_id].usage for request_id in queued]
    return [usage for usage in usages if usage is not None]


def promise_and_flood() -> int:
    """Promise prefixes, each followed by its part of the flood. Print a line for each prefix.

    Arguments: the plan as JSON, the first prefix and the one after the last.
    """
    plan, first, end = Plan(**json.loads(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    promise = PromiseRequest(PREFIX_BLOCKS * BLOCK, _SECONDS, plan.reserved_bytes)
    with opened(plan) as llm:
        for numbers in batches(range(first, end)):
            for number, usage in zip(numbers, ask(llm, numbers, "keeper", promise), strict=True):
                assert usage.kv.promise is not None
                print(json.dumps([number, usage.kv.promise.num_tokens, usage.kv.promise.reason]), flush=True)
            for at in batches(range(FLOOD * numbers[0], FLOOD * (numbers[-1] + 1))):
                ask(llm, at, "flood")
    return 0


def arguments(plan: Plan, first: int, end: int) -> list[str]:
    """Return the arguments of `promise_and_flood`."""
    return [json.dumps(asdict(plan)), str(first), str(end)]
