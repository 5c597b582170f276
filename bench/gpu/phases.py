"""Phases of the GPU benchmark. Each creates its own worker and returns figures by name."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import median
from types import MappingProxyType
from typing import Any, Final

import torch

from bench.gpu.rig import Rig, Scale, prompt, random_model
from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout
from cache_tiers.transfer import Direction
from engine.attention.backend import AttentionMetadata, AttentionSpec, kv_shapes
from engine.attention.selector import load_backend, select_backend
from engine.device.choice import block_size_for
from engine.worker.torch.devices import open_device

Figures = Mapping[str, Any]
ROUNDS: Final = 5


def equality(scale: Scale) -> Figures:
    """Compare Ebb's attention with the reference backend, the oracle.

    Four layers in float32 must produce the oracle's tokens. The hidden states of all layers in bfloat16 must be no
    farther from the oracle's than those of plain torch.
    """
    small = replace(scale, model=replace(scale.model, layers=scale.model.layers[:4]))
    tokens = {}
    for name, graphs in (("auto", True), ("auto", False), ("torch", False), ("reference", False)):
        with Rig(small, blocks=32, attention=name, graphs=graphs, dtype="float32", max_num_seqs=3) as rig:
            tokens[f"{name}, graphs" if graphs else name] = _generate(rig)
    expected = tokens["reference"]
    equal = {
        name: sum(a == b for a, b in zip(found, expected, strict=True)) / len(expected)
        for name, found in tokens.items()
    }
    distance = _hidden_distance(scale)
    within = distance["auto"] <= 1.5 * distance["torch"] + 1e-3
    return {
        "attention": str(select_backend(_spec(scale))),
        "tokens_equal": equal,
        "hidden_distance": distance,
        "met": min(equal.values()) == 1 and within,
    }


def _spec(scale: Scale) -> AttentionSpec:
    return AttentionSpec(scale.device, torch.bfloat16, scale.model.attention_calls(), block_size_for(scale.device))


def _generate(rig: Rig) -> list[int]:
    """Compute three prompts of different lengths in one step, then decode twelve times."""
    vocab = rig.scale.model.vocab_size
    new = [rig.request(f"{at}", prompt(at, length, vocab), 10 * at) for at, length in enumerate((130, 64, 5))]
    lengths = {each.request_id: len(each.token_ids) for each in new}
    result, _ = rig.step(lengths, new=new)
    found = [dict(result.sampled_token_ids)]
    for step in range(12):
        cached = {name: length + step for name, length in lengths.items()}
        result, _ = rig.step(dict.fromkeys(lengths, 1), cached=cached)
        found.append(dict(result.sampled_token_ids))
    return [sampled[name][0] for sampled in found for name in lengths]


@torch.inference_mode()
def _hidden_distance(scale: Scale) -> dict[str, float]:
    """Return, by backend, the distance of a prompt's final hidden states from the oracle's, relative to their norm."""
    device, block_size = open_device(scale.device), block_size_for(scale.device)
    config, dtype, length = scale.model, torch.bfloat16, 300
    model = random_model(config, dtype, device.torch_device, layers=device.layers(check=False))
    spec = _spec(scale)
    blocks = -(-length // block_size)
    positions = torch.arange(length, device=device.torch_device)
    metadata = AttentionMetadata((length,), (length,), (tuple(range(blocks)),), positions)
    ids = torch.tensor(prompt(9, length, config.vocab_size), device=device.torch_device)
    hidden = {}
    for name in ("auto", "torch", "reference"):
        backend = load_backend(name) if name != "auto" else select_backend(spec).backend
        layout = BlockLayout(kv_shapes(spec.calls), block_size, dtype.itemsize, backend.order)
        pool = KVPool(torch.zeros(blocks * layout.elements, dtype=dtype, device=device.torch_device), layout)
        hidden[name] = model.forward(ids, positions, backend(spec, pool).begin_step(metadata)).float()
    oracle = hidden.pop("reference")
    return {name: float((found - oracle).norm() / oracle.norm()) for name, found in hidden.items()}


def decode(scale: Scale) -> Figures:
    """Measure tokens per second while all streams decode, with decode graphs and without."""
    found: dict[str, Any] = {}
    for graphs in (True, False):
        count = max(scale.streams)
        probe = -(-(scale.context + 200) // block_size_for(scale.device))
        with Rig(scale, blocks=count * probe, graphs=graphs, max_num_seqs=count) as rig:
            for streams in scale.streams:
                seconds = median(_decode_steps(rig, streams)[scale.steps // 8 :])
                found[f"{streams} streams{'' if graphs else ', no graphs'}"] = {
                    "tokens_per_second": streams / seconds,
                    "step_ms": seconds * 1e3,
                }
    return found


def _decode_steps(rig: Rig, streams: int, *, stored: int = 0) -> list[float]:
    """Return the seconds of each step.

    The KV is whatever the blocks contain, since only the amount of KV costs time.

    stored: blocks that each step copies to host memory.
    """
    scale, each = rig.scale, rig.blocks_for(rig.scale.context + 200)
    tokens = prompt(1, scale.context, scale.model.vocab_size)
    new = [rig.request(str(at), tokens, at * each, computed=scale.context - 1) for at in range(streams)]
    names = [request.request_id for request in new]
    ones, seconds = dict.fromkeys(names, 1), []
    rig.step(ones, new=new)
    for step in range(scale.steps):
        stores = rig.moves(Direction.STORE, stored)
        _, took = rig.step(ones, cached=dict.fromkeys(names, scale.context + step), stores=stores)
        seconds.append(took)
    rig.step(dropped=names)
    return seconds


def copies(scale: Scale) -> Figures:
    """Measure KV copies to and from host memory against one long copy of the same bytes. Target: 80 % of that speed."""
    count, each = scale.copied, -(-(scale.context + 200) // block_size_for(scale.device))
    streams = min(32, max(scale.streams))
    with Rig(scale, blocks=max(count, streams * each), host_blocks=count, max_num_seqs=streams) as rig:
        nbytes = count * rig.block_nbytes
        limit = _link_limit(scale, nbytes)
        down, up = rig.moves(Direction.STORE, count), rig.moves(Direction.LOAD, count)
        ways: dict[str, Callable[[], tuple[Any, float]]] = {
            "down": lambda: rig.step(stores=down),
            "up": lambda: rig.step(loads=up),
        }
        found: dict[str, Any] = {"block_mib": rig.block_nbytes / 2**20}
        for name, move in ways.items():
            speed = nbytes / min(move()[1] for _ in range(ROUNDS)) / 1e9
            found[name] = {"gb_per_second": speed, "limit": limit[name], "share": speed / limit[name]}
        quiet = median(_decode_steps(rig, streams))
        loud = median(_decode_steps(rig, streams, stored=min(4, count)))
        found["step_ms"] = {"alone": quiet * 1e3, "4 blocks down alongside each": loud * 1e3, "streams": streams}
        return found | {"met": min(found["down"]["share"], found["up"]["share"]) >= 0.8}


def _link_limit(scale: Scale, nbytes: int) -> dict[str, float]:
    """Measure GB/s of one copy to and from pinned memory."""
    device = open_device(scale.device)
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device.torch_device)
    here = torch.zeros(nbytes, dtype=torch.uint8)
    if scale.device != "cpu":
        here = here.pin_memory()
    found = {}
    for name, target, source in (("down", here, there), ("up", there, here)):
        seconds = []
        for _ in range(ROUNDS):
            device.synchronize()
            began = time.perf_counter()
            target.copy_(source, non_blocking=True)
            device.synchronize()
            seconds.append(time.perf_counter() - began)
        found[name] = nbytes / min(seconds) / 1e9
    return found


def returning(scale: Scale) -> Figures:
    """Measure the time to the first token of a long chat's next turn.

    The chat's KV is restored from CPU memory, found on the device, or recomputed.
    """
    tokens = prompt(2, scale.chat, scale.model.vocab_size)
    size = block_size_for(scale.device)
    kept = (scale.chat - 20) // size
    room = -(-(scale.chat + 200) // size)
    with Rig(scale, blocks=2 * room, host_blocks=kept) as rig:
        # Warm up, so that no measurement includes compiling kernels or libraries choosing theirs.
        rig.prefill(rig.request("warm", tokens[: 2 * scale.chunk], 0))
        again = rig.request("again", tokens, room, computed=kept * size)
        rig.prefill(again)
        computed, compute_seconds = rig.prefill(rig.request("first", tokens, 0))
        _, down_seconds = rig.step(stores=rig.moves(Direction.STORE, kept))
        resident, resident_seconds = rig.prefill(rig.request("device", tokens, 0, computed=kept * size))
        load_seconds = rig.load(rig.moves(Direction.LOAD, kept, first_block=room))
        restored, restore_seconds = rig.prefill(again)
        restore_seconds += load_seconds
        return {
            "tokens": scale.chat,
            "restored_tokens": kept * size,
            "compute_ms": compute_seconds * 1e3,
            "compute_tokens_per_second": scale.chat / compute_seconds,
            "from_cpu_ms": restore_seconds * 1e3,
            "from_device_ms": resident_seconds * 1e3,
            "down_ms": down_seconds * 1e3,
            "times_sooner": compute_seconds / restore_seconds,
            "same_token_from_cpu_and_device": restored == resident,
            "same_token_as_computed": restored == computed,
            "met": restored == resident,
        }


PHASES: Final = MappingProxyType({"equality": equality, "copies": copies, "returning": returning, "decode": decode})
"""Phases in order of importance: correctness first."""
