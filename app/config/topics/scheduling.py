"""Settings of the queue and the steps."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import get_args

from app.config.options import any_path, any_text, integer, one_of, setting, switch
from app.config.parsers import parse_weights
from app.domain.bounds import MAX_ANSWERS
from engine.scheduling.queue.policy import QueuePolicy


@dataclass(frozen=True, kw_only=True)
class SchedulingSettings:
    """Order and limits of requests, and sizes of steps and answers."""

    max_num_seqs: int = setting(32, integer(1, 4096), "N", "maximum number of requests computed at the same time")
    max_num_batched_tokens: int = setting(
        0,
        integer(0, 1 << 20),
        "TOKENS",
        "maximum number of tokens computed in one step; `0`: 512 on a CPU, 2048 on an NPU or a GPU",
    )
    queue_policy: QueuePolicy = setting(
        "fair",
        one_of(*get_args(QueuePolicy)),
        "POLICY",
        "which request is next: `fair` between tenants, `priority` or `fcfs`",
    )
    max_waiting: int = setting(
        256, integer(1, 1 << 20), "N", "maximum number of waiting requests; more are refused with 429"
    )
    max_queue_wait: int = setting(
        30,
        integer(1, 86_400),
        "S",
        "seconds of waiting after which a request (a tenant, if `fair`) is next, whatever the policy",
    )
    queue_timeout: int = setting(
        0, integer(0, 86_400), "S", "seconds of waiting after which a request is refused; `0`: never"
    )
    tenant_weights: Mapping[str, float] = setting(
        MISSING,
        parse_weights,
        "NAME=W,...",
        "shares of tenants in memory, and under the policy `fair` in the batch: `research=2,batch=0.5`, or a table in "
        "TOML",
        default_text="all 1",
        default_factory=dict,
    )
    public_prefix: Path | None = setting(
        None,
        any_path,
        "FILE",
        "text file with a system prompt whose KV all tenants share; every tenant can detect its use",
        default_text="none",
    )
    itl_target: int = setting(
        0,
        integer(0, 60_000),
        "MS",
        (
            "longest step while streams are running or several tenants are active, in ms; `0`: 50, with several "
            "tenants 25, or twice a step without prompts if that is more, and 200 while the context of an answer that "
            "has begun is computed again"
        ),
    )
    decode_passes: int = setting(
        4,
        integer(1, 64),
        "N",
        (
            "maximum number of tokens per stream and step while all requests decode and none waits; never "
            "more than fit in 50 ms (or `itl-target`)"
        ),
    )
    max_answers: int = setting(
        16,
        integer(1, MAX_ANSWERS),
        "N",
        "maximum number of answers to one prompt of a request (`n`, `best_of`), up to 128",
    )
    max_answer_tokens: int = setting(
        0,
        integer(0, 1 << 31),
        "N",
        "maximum number of tokens of an answer whose client sets no limit; `0`: up to the end of the window",
    )
    no_speculation: bool = setting(
        False,
        switch,
        "",
        ("compute tokens one after another, even where they can be [guessed](decisions/speculation.md)"),
    )
    draft_model: str = setting(
        "",
        any_text,
        "NAME",
        (
            "a smaller model with the same vocabulary, named as `model`, that guesses tokens which neither the text "
            "nor earlier answers contain ([draft models](guides/draft-models.md))"
        ),
        default_text="none",
    )
    draft_quantization: str = setting(
        "none", one_of("none", "int8", "int4"), "KIND", "`quantization` of the draft model, which changes no answer"
    )
