"""Batch invariance of the native step: equal tokens give bitwise equal logits for any composition of a step."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
import torch

from engine.cpu.instruction_set import usable_instruction_sets
from engine.cpu.library import BFLOAT16_FORMATS
from engine.worker.native.step_arrays import PAGE_KEYS
from tests.family_models import FAMILIES, ONE_OF_EACH, save_family
from tests.many_models import combinations, representatives
from tests.native_rig import KernelsFor, NativeRig, Stream, Threads
from tests.sizes import Size
from tests.tiny_models import PANGU, make_tiny_model

DECODED = 6
LONGEST = 900
CHUNKS = (1, 5, 16, 33, 64, 150, 300)
BATCHES = (2, 3, 4, 5, 7, 8, 13, 25, 32)


class Expected:
    """Prompts with DECODED tokens after each, and the logits of these rows when each prompt is computed alone.

    sequences: token ids of each prompt and its decoded tokens.
    rows: per prompt [DECODED + 1, vocab], the float32 logits as int32 bit patterns.
    compared: the number of rows compared so far.
    """

    def __init__(self, rig: NativeRig, prompts: Sequence[Sequence[int]]) -> None:
        self.rig = rig
        self.prompts = prompts
        self.sequences: list[list[int]] = []
        self.rows: list[torch.Tensor] = []
        self.compared = 0
        for prompt in prompts:
            stream = rig.start([*prompt, *[0] * DECODED])
            rows = rig.advance([(stream, len(prompt))])
            for at in range(len(prompt), len(prompt) + DECODED):
                stream.tokens[at] = int(rows[-1].argmax())
                rows = torch.cat((rows, rig.advance([(stream, 1)])))
            assert rows.isfinite().all()
            self.sequences.append(stream.tokens)
            self.rows.append(rows.view(torch.int32))
            rig.end(stream)

    def check(self, index: int, stream: Stream, logits: torch.Tensor) -> None:
        """Compare `logits` [vocab] of the stream's last computed token. Rows inside the prompt are not compared."""
        row = stream.done - len(self.prompts[index])
        if row >= 0:
            differing = int((logits.view(torch.int32) != self.rows[index][row]).sum())
            assert differing == 0, f"prompt {index}, row {row}: {differing} logits differ"
            self.compared += 1

    def advance(self, index: int, stream: Stream, *, chunk: int, threads: Threads) -> None:
        """Compute the rest of the prompt in chunks and the tokens after it one by one."""
        while stream.done < len(stream.tokens):
            left = len(self.prompts[index]) - stream.done
            logits = self.rig.advance([(stream, min(chunk, left) if left > 0 else 1)], threads=threads)
            self.check(index, stream, logits[0])
        self.rig.end(stream)


def random_prompts(count: int, longest: int, vocab: int) -> list[list[int]]:
    """Make prompts of 1 to `longest` tokens, evenly spread on a logarithmic scale.

    Some lengths are next to the boundaries of pages and splits.
    """
    generator = torch.Generator().manual_seed(7)
    lengths = (longest ** torch.rand(count, generator=generator)).int().tolist()
    edges = [length for length in (longest, 257, 256, 64, 65, 1) if length <= longest]
    lengths[: len(edges)] = edges[:count]
    return [torch.randint(3, vocab, (length,), generator=generator).tolist() for length in lengths]


def check_all(expected: Expected, *, chunks: Sequence[int], batches: Sequence[int]) -> None:
    """Run every check. batches: sizes, the largest last, which is also the number of streams of the mixed batches."""
    check_chunks(expected, chunks)
    check_moved_blocks(expected)
    for threads in (1, 2):
        check_mixed_batches(expected, threads, streams=batches[-1])
        check_decoding_together(expected, threads, batches)


def check_chunks(expected: Expected, chunks: Sequence[int]) -> None:
    for index, tokens in enumerate(expected.sequences):
        for chunk in chunks:
            expected.advance(index, expected.rig.start(tokens), chunk=chunk, threads=1 if chunk == 64 else 2)


def check_moved_blocks(expected: Expected) -> None:
    """Compare after whole blocks have moved to other ids, as after a restore or a preemption; recompute the rest."""
    for index, tokens in enumerate(expected.sequences):
        stream = expected.rig.start(tokens)
        expected.rig.advance([(stream, len(expected.prompts[index]))])
        expected.rig.move(stream)
        expected.advance(index, stream, chunk=100, threads=2)


def check_mixed_batches(expected: Expected, threads: Threads, *, streams: int) -> None:
    """Mix chunks of any size with decoding rows in random order, while streams start and end."""
    rig = expected.rig
    waiting = rig.shuffled(at_least(streams, len(expected.prompts)))
    running: list[tuple[int, Stream]] = []
    while waiting or running:
        while waiting and len(running) < streams:
            index = waiting.pop()
            running.append((index, rig.start(expected.sequences[index])))
        parts, budget = list[tuple[int, Stream, int]](), 512
        for at in rig.shuffled(range(len(running))):
            index, stream = running[at]
            left = len(expected.prompts[index]) - stream.done
            count = min(rig.choose(CHUNKS), left) if left > 0 else 1
            if count <= budget:
                parts.append((index, stream, count))
                budget -= count
        logits = rig.advance([(stream, count) for _, stream, count in parts], threads=threads)
        for (index, stream, _), row in zip(parts, logits, strict=True):
            expected.check(index, stream, row)
            if stream.done == len(stream.tokens):
                rig.end(stream)
        running = [(index, stream) for index, stream in running if stream.blocks]


def check_decoding_together(expected: Expected, threads: Threads, batches: Sequence[int]) -> None:
    """Compare batches that only decode. Prompts are computed once: each batch goes back to the ends of its prompts."""
    rig = expected.rig
    indices = rig.shuffled(at_least(batches[-1], len(expected.prompts)))[: batches[-1]]
    streams = [(index, rig.start(expected.sequences[index])) for index in indices]
    for index, stream in streams:
        rig.advance([(stream, len(expected.prompts[index]))])
    for together in batches:
        batch = [streams[at] for at in rig.shuffled(range(len(streams)))[:together]]
        for index, stream in batch:
            stream.done = len(expected.prompts[index])
        for _ in range(DECODED):
            logits = rig.advance([(stream, 1) for _, stream in batch], threads=threads)
            for (index, stream), row in zip(batch, logits, strict=True):
                expected.check(index, stream, row)
    for _, stream in streams:
        rig.end(stream)


def check_sharing(expected: Expected, prefixes: Sequence[Sequence[int]], threads: Threads, streams: int) -> None:
    """Compare streams that decode together on the blocks of the longest prefix that they begin with.

    prefixes: shortest first. Each one begins with the one before it.
    """
    rig, owners = expected.rig, list[Stream]()
    for prefix in prefixes:
        owners.append(rig.fork(owners[-1], prefix) if owners else rig.start(prefix))
        rig.advance([(owners[-1], len(prefix) - owners[-1].done)])
    indices = rig.shuffled(at_least(streams, len(expected.prompts)))
    forks = []
    for index in indices:
        tokens = expected.sequences[index]
        owner = [each for each in owners if tokens[: len(each.tokens)] == each.tokens][-1]
        forks.append(rig.fork(owner, tokens))
        rig.advance([(forks[-1], len(expected.prompts[index]) - forks[-1].done)])
    for _ in range(DECODED):
        logits = rig.advance([(stream, 1) for stream in forks], threads=threads)
        for index, stream, row in zip(indices, forks, logits, strict=True):
            expected.check(index, stream, row)
    for stream in (*forks, *owners):
        rig.end(stream)


def at_least(count: int, prompts: int) -> list[int]:
    """List the index of every prompt, repeated up to `count` indices. Each index is a separate stream."""
    return [index % prompts for index in range(max(count, prompts))]


INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]
PORTABLE = INSTRUCTION_SETS[-1]
TINY_MODELS = {
    "64 wide": ({"hidden": 192, "heads": 3, "kv_heads": 1}, "bfloat16"),
    "64 wide, int8": ({"hidden": 192, "heads": 3, "kv_heads": 1, **PANGU}, "int8"),
    "64 wide, int4": ({"hidden": 192, "heads": 3, "kv_heads": 1, **PANGU}, "int4"),
    "128 wide": ({"hidden": 512, "heads": 4, "kv_heads": 2, **PANGU}, "bfloat16"),
}
"""Shape and format of the weights, by name."""


WITH_LONG_PROMPTS = (*ONE_OF_EACH, "qwen3, windows", "mistral, 80 wide", "smollm3, windows", "phi3", "phi3, long")
"""One model of each type, more whose windows end before a long prompt does, and one whose positions depend on length.
"""


@pytest.mark.parametrize(
    ("tiny", "instruction_set"),
    combinations(TINY_MODELS, INSTRUCTION_SETS, only={"64 wide, int4", PORTABLE}),
)
def test_logits_of_a_tiny_model_are_batch_invariant(
    tmp_path: Path, kernels: KernelsFor, tiny: tuple[dict[str, int], str], instruction_set: str, size: Size
) -> None:
    shape, weights = tiny
    folder = make_tiny_model(tmp_path / "tiny", **shape)  # type: ignore[arg-type]
    longest = size.pick(small=260, full=LONGEST)
    batches = size.pick(small=(2, 3, 4, 7, 13, 25), full=BATCHES)
    rig = NativeRig(kernels(instruction_set), folder, num_blocks=blocks_for(longest, batches), weights=weights)
    expected = Expected(rig, random_prompts(size.pick(small=7, full=200), longest, 250))
    check_all(expected, chunks=size.pick(small=(16, 512), full=(1, 16, 64, 512)), batches=batches)
    assert expected.compared > len(expected.prompts) * 50


@pytest.mark.parametrize(("tiny", "instruction_set"), combinations(TINY_MODELS, INSTRUCTION_SETS))
def test_long_chunk_has_the_bits_of_short_ones(
    tmp_path: Path, kernels: KernelsFor, tiny: tuple[dict[str, int], str], instruction_set: str
) -> None:
    """Compare a long chunk, whose rows the threads divide, with short ones, whose columns they divide."""
    shape, weights = tiny
    folder = make_tiny_model(tmp_path / "tiny", **shape)  # type: ignore[arg-type]
    rig = NativeRig(kernels(instruction_set), folder, num_blocks=blocks_for(700, (1,)), weights=weights)
    expected = Expected(rig, random_prompts(1, 700, 250))
    check_chunks(expected, (64, 300, 450))
    assert expected.compared == 3 * (DECODED + 1)


@pytest.mark.parametrize("name", representatives(["gemma2, capped"], FAMILIES))
def test_logits_of_every_family_are_batch_invariant(tmp_path: Path, kernels: KernelsFor, name: str, size: Size) -> None:
    folder = save_family(tmp_path / "model", name)
    longest, batches = size.pick(small=150, full=LONGEST), size.pick(small=(3, 9), full=BATCHES)
    rig = NativeRig(kernels("auto"), folder, num_blocks=blocks_for(longest, batches))
    expected = Expected(rig, random_prompts(size.pick(small=3, full=12), longest, 250))
    check_all(expected, chunks=size.pick(small=(16,), full=(1, 16, 64, 512)), batches=batches)
    assert expected.compared > len(expected.prompts) * 20


@pytest.fixture(scope="module")
def saved_family(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from the name of a family to the folder of a model, which is written once."""
    folder = tmp_path_factory.mktemp("families")
    return cache(lambda name: save_family(folder / name, name))


@pytest.mark.parametrize(
    ("name", "instruction_set"),
    combinations(WITH_LONG_PROMPTS, INSTRUCTION_SETS, only={"gemma2", "qwen3, windows", "phi3, long", PORTABLE}),
)
def test_long_prompts_of_families_are_batch_invariant(
    saved_family: Callable[[str], Path], kernels: KernelsFor, name: str, instruction_set: str, size: Size
) -> None:
    """Compare prompts of more tokens than a chunk of the engine and a window have."""
    longest, batches = size.pick(small=530, full=LONGEST), size.pick(small=(3,), full=(3, 13))
    rig = NativeRig(kernels(instruction_set), saved_family(name), num_blocks=blocks_for(longest, batches))
    expected = Expected(rig, random_prompts(size.pick(small=2, full=3), longest, 250))
    check_all(expected, chunks=size.pick(small=(512,), full=(64, 512)), batches=batches)
    assert expected.compared > len(expected.prompts) * 20


@pytest.mark.parametrize(("name", "weights"), combinations(ONE_OF_EACH, ["int8", "int4"], only={"gemma2", "int4"}))
def test_logits_of_quantized_families_are_batch_invariant(
    tmp_path: Path, kernels: KernelsFor, name: str, weights: str
) -> None:
    rig = NativeRig(kernels("auto"), save_family(tmp_path / "model", name), num_blocks=9, weights=weights)
    expected = Expected(rig, random_prompts(2, 80, 250))
    check_all(expected, chunks=(16,), batches=(3,))
    assert expected.compared > len(expected.prompts) * 20


def test_many_splits_and_windows_are_batch_invariant(tmp_path: Path, kernels: KernelsFor) -> None:
    """Layers without a window join three splits of 256 keys. The window's layers skip the splits before it.

    The portable build keeps activations in float32, so that rounding to bfloat16 does not hide a difference.
    """
    folder, batches = save_family(tmp_path / "model", "gemma2"), (2,)
    rig = NativeRig(kernels("portable"), folder, num_blocks=blocks_for(700, batches))
    expected = Expected(rig, random_prompts(3, 700, 250))
    check_all(expected, chunks=(64,), batches=batches)
    assert expected.compared > len(expected.prompts) * 20


@pytest.mark.parametrize(
    ("name", "instruction_set"),
    combinations(["gemma2", "internlm3"], INSTRUCTION_SETS, only={"internlm3", PORTABLE}),
)
def test_rows_on_shared_blocks_equal_rows_alone(
    tmp_path: Path, kernels: KernelsFor, instruction_set: str, name: str
) -> None:
    """Rows share two splits of 256 keys, some of them a third one, and their ends are in different splits."""
    rig = NativeRig(kernels(instruction_set), save_family(tmp_path / "model", name), num_blocks=300)
    tokens = torch.randint(3, 250, (900,), generator=torch.Generator().manual_seed(3)).tolist()
    prefixes = [tokens[:600], tokens[:800]]
    ends = [(600, [5, 6]), (600, tokens[:37]), (600, tokens[:169]), (800, [7]), (800, tokens[:97]), (800, tokens[:150])]
    expected = Expected(rig, [[*tokens[:start], *end] for start, end in ends])
    check_sharing(expected, prefixes, threads=1, streams=6)
    check_sharing(expected, prefixes, threads=2, streams=25)
    assert expected.compared == 31 * DECODED


@pytest.mark.long
@pytest.mark.parametrize("weights", representatives(["bfloat16"], BFLOAT16_FORMATS))
def test_logits_of_the_real_model_are_batch_invariant(
    shallow_model: Path, kernels: KernelsFor, weights: str, size: Size
) -> None:
    longest = size.pick(small=80, full=LONGEST)
    batches = size.pick(small=(5,), full=BATCHES)
    rig = NativeRig(kernels("auto"), shallow_model, num_blocks=blocks_for(longest, batches), weights=weights)
    count = size.pick(small=2, full={"bfloat16": 200, "int8": 100, "int4": 60}[weights])
    expected = Expected(rig, random_prompts(count, longest, 49000))
    check_all(expected, chunks=size.pick(small=(64,), full=(16, 64, 512)), batches=batches)
    assert expected.compared > len(expected.prompts) * 40


def blocks_for(longest: int, batches: Sequence[int]) -> int:
    return batches[-1] * (-(-(longest + DECODED) // PAGE_KEYS))
