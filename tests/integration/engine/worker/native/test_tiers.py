"""Bitwise exactness of the whole engine with the native step.

No bit of a logit depends on the tier that a request's prefix came from, on other requests, on the chunk size, on
preemption, on a restart or on the number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from cache_tiers.config import DiskConfig, TierConfig
from cache_tiers.layout.layout import BlockLayout
from engine.attention.backend import kv_shapes
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.cpu.instruction_set import usable_instruction_sets
from engine.cpu.weights import stored_calls
from engine.llm import LLM
from engine.worker import worker
from models.gguf_import.convert import convert_gguf
from models.registry import read_config
from models.weights.folder import ModelFolder
from tests.family_models import ONE_OF_EACH, save_family
from tests.integration.engine_rig import BLOCK
from tests.integration.logits_recorder import Answer, LogitsRecorder, ask_together
from tests.leaks import assert_no_leaks
from tests.many_models import combinations, representatives
from tests.native_rig import KernelsFor, Threads
from tests.sizes import Size
from tests.tiny_gguf import MIXES, write_block_gguf
from tests.tiny_models import PANGU, make_tiny_model

pytestmark = pytest.mark.usefixtures("patient_loads")

ANSWER = 12
STREAMS = 32
INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]
QUANTIZATIONS = ("none", "int8", "int4")
WEIGHTS = (*QUANTIZATIONS, "Q4_K_M", "Q4_0", "Q5_K_M", "Q6_K")
"""Formats of weights: settings of `quantization`, and types of the blocks of GGUF files."""


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> LogitsRecorder:
    """Logits recorder that is patched into every engine of the test."""
    recorder = LogitsRecorder()
    monkeypatch.setattr(worker, "NativeRunner", recorder.runner)
    return recorder


@dataclass(frozen=True)
class Exactness:
    """Comparison of engines with one configuration that compute the same answers in different ways."""

    recorder: LogitsRecorder
    config: EngineConfig
    prompts: Sequence[Sequence[int]]

    def check_in_one_run(self) -> list[Answer]:
        """Compare answers restored from the device, from CPU memory, and in batches with prefixes from both.

        Returns the answers to each prompt alone, computed without reuse.
        """
        with LLM(self.config) as llm:
            expected, from_device = list[Answer](), list[Answer]()
            for prompt in self.prompts:
                expected.append(self._ask(llm, prompt))
                from_device.append(self._ask(llm, prompt))
            assert all(answer.kv.cached == 0 for answer in expected)
            assert all(answer.kv.computed < BLOCK for answer in from_device)
            check_same(from_device, expected)

            self._fill_device(llm)
            from_cpu = [self._ask(llm, prompt) for prompt in self.prompts]
            assert [answer.kv.reused["cpu"] for answer in from_cpu] == [
                restorable(prompt, partial=True) for prompt in self.prompts
            ]
            check_same(from_cpu, expected)

            self._fill_device(llm)
            together = self._ask_in_batches(llm)
            assert sum(answer.kv.reused["cpu"] for answer in together) > 0
            check_same(together, expected)
            assert_no_leaks(llm.engine)
        return expected

    def check_after_a_restart(self, expected: Sequence[Answer]) -> None:
        """Compare answers restored from the disk after a restart, and answers resumed after a cut."""
        with LLM(self.config) as llm:
            from_disk = [self._ask(llm, prompt) for prompt in self.prompts]
            assert [answer.kv.reused["disk"] for answer in from_disk] == [restorable(prompt) for prompt in self.prompts]
            check_same(from_disk, expected)
            cut = ANSWER // 2
            for prompt, whole in zip(self.prompts, expected, strict=True):
                rest = self._ask(llm, [*prompt, *whole.token_ids[:cut]], ANSWER - cut)
                assert (rest.token_ids, rest.logits) == (whole.token_ids[cut:], whole.logits[cut:])
            assert_no_leaks(llm.engine)

    def check_chunks(self, expected: Sequence[Answer], *, chunk: int, blocks: int, threads: Threads) -> None:
        """Compare batches computed without reuse, in steps of at most `chunk` tokens: decodes, then prompt chunks."""
        self.recorder.threads = threads
        with LLM(self._without_reuse(blocks, chunk=chunk)) as llm:
            answers = self._ask_in_batches(llm)
        assert all(answer.kv.cached == 0 for answer in answers)
        check_same(answers, expected)

    def check_preempted(self, expected: Sequence[Answer], *, blocks: int) -> None:
        """Compare requests that an earlier one preempts for lack of blocks, and that are recomputed from the start.

        Accepted drafts could end an answer before the earlier request needs its last block.
        """
        answers = []
        with LLM(self._without_reuse(blocks).with_fields(prompt_lookup=False)) as llm:
            for prompt in self.prompts:
                left = blocks - -(-len(prompt) // BLOCK)
                earlier = [3 + (at * 11) % 250 for at in range(left * BLOCK - ANSWER // 2)]
                answers.append(ask_together(llm, self.recorder, [earlier, prompt], ANSWER)[1])
        assert all(answer.recomputed for answer in answers)
        check_same(answers, expected)

    def _without_reuse(self, blocks: int, *, chunk: int = 512) -> EngineConfig:
        """Configure an engine without reuse, whose chunks stay as large as possible alongside running streams."""
        return self.config.with_fields(
            tiers=None,
            prefix_cache=False,
            max_num_batched_tokens=chunk,
            itl_target=60.0,
            kv_memory=blocks * block_nbytes(self.config.model.path),
        )

    def _ask(self, llm: LLM, prompt: Sequence[int], count: int = ANSWER) -> Answer:
        return ask_together(llm, self.recorder, [prompt], count)[0]

    def _ask_in_batches(self, llm: LLM) -> list[Answer]:
        batches = [self.prompts[at : at + STREAMS] for at in range(0, len(self.prompts), STREAMS)]
        return [answer for batch in batches for answer in ask_together(llm, self.recorder, batch, ANSWER)]

    def _fill_device(self, llm: LLM) -> None:
        """Compute unrelated prompts until they have evicted every other block from the device."""
        total = llm.engine.stats().blocks.total
        blocks = min(8, total // 2)
        for salt in range(-(-total // blocks)):
            self._ask(llm, [3 + (salt * 31 + at * 7) % 250 for at in range(blocks * BLOCK)], 1)


def restorable(prompt: Sequence[int], *, partial: bool = False) -> int:
    """Count the tokens of an answered prompt that lower tiers can restore.

    Full blocks can be restored, and with `partial` the partial block that the answer left. The last token of a prompt
    is always computed.
    """
    whole = len(prompt) // BLOCK * BLOCK
    beyond = len(prompt) - 1 - whole
    # KV of the answer's last token is never computed.
    is_full = len(prompt) + ANSWER - 1 >= whole + BLOCK
    if partial and not is_full and beyond >= BLOCK // 8:
        return whole + beyond
    return min(whole, len(prompt) - 1)


def check_same(answers: Sequence[Answer], expected: Sequence[Answer]) -> None:
    """Assert that no token and no logit differs."""
    for index, (answer, alone) in enumerate(zip(answers, expected, strict=True)):
        assert answer.token_ids == alone.token_ids, f"prompt {index}"
        differing = [at for at in range(ANSWER) if answer.logits[at] != alone.logits[at]]
        assert not differing, f"prompt {index}: the logits of tokens {differing} differ"


def block_nbytes(folder: Path) -> int:
    model = read_config(ModelFolder(folder).config())
    return BlockLayout(kv_shapes(stored_calls(model)), BLOCK, 2).nbytes


def prompts_up_to(longest: int, count: int, vocab: int) -> list[list[int]]:
    """Make prompts of random ids, with lengths evenly spread on a logarithmic scale and some next to block boundaries.

    Each begins with a different token, so that no two share a block.
    """
    generator = torch.Generator().manual_seed(11)
    shortest = 8
    lengths = (shortest * (longest / shortest) ** torch.rand(count, generator=generator)).int().tolist()
    edges = [length for length in (longest, 65, 40, 13, 128, 250, 64, 1) if length <= longest]
    lengths[: len(edges)] = edges[:count]
    firsts = (torch.randperm(vocab - 3, generator=generator)[:count] + 3).tolist()
    return [
        [first, *torch.randint(3, vocab, (length - 1,), generator=generator).tolist()]
        for first, length in zip(firsts, lengths, strict=True)
    ]


def check_everything(exactness: Exactness, *, chunks: Sequence[int], blocks: int) -> None:
    """Run every check. blocks: the blocks of the longest request, plus two."""
    exactness.recorder.threads = 1
    expected = exactness.check_in_one_run()
    exactness.check_preempted(expected, blocks=blocks)
    exactness.recorder.threads = 2
    exactness.check_after_a_restart(expected)
    for chunk in chunks:
        exactness.check_chunks(expected, chunk=chunk, blocks=2 * blocks, threads=1 if chunk == 64 else 2)


def tiers(cpu_mib: int, disk_mib: int, folder: Path) -> TierConfig:
    """Configure CPU memory and a disk."""
    return TierConfig(cpu_mib << 20, "off", 0, folder, disk=DiskConfig(folder / "kv", disk_mib << 20))


@pytest.mark.long
@pytest.mark.many_models
@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_logits_of_the_real_model_are_exact_in_every_way(
    model_path: Path, tmp_path: Path, kernels: KernelsFor, recorder: LogitsRecorder, quantization: str, size: Size
) -> None:
    config = EngineConfig(
        model=ModelConfig(path=model_path, name="smollm2", quantization=quantization),
        cache=CacheConfig(
            tiers=tiers(size.pick(small=128, full=2560), size.pick(small=256, full=4096), tmp_path),
            secret=b"a secret of the tests",
            kv_memory=size.pick(small=10, full=160) * block_nbytes(model_path),
        ),
        device=DeviceConfig(cache_dir=kernels("auto").build.path.parent.parent),
    )
    count = size.pick(small=3, full=60 if quantization == "int4" else 200)
    prompts = prompts_up_to(size.pick(small=200, full=600), count, 49000)
    check_everything(
        Exactness(recorder, config, prompts),
        chunks=size.pick(small=(), full=(16, 64, 512)),
        blocks=size.pick(small=6, full=12),
    )


@pytest.mark.parametrize(
    ("weights", "instruction_set"),
    combinations(WEIGHTS, INSTRUCTION_SETS, only={"int8", "int4", "Q4_K_M", INSTRUCTION_SETS[-1]}),
)
def test_logits_are_exact_with_every_format_of_weights(
    tmp_path: Path, kernels: KernelsFor, recorder: LogitsRecorder, weights: str, instruction_set: str, size: Size
) -> None:
    model = save_with_weights(tmp_path / "tiny", weights)
    (tmp_path / "state").mkdir()
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny", quantization=weights if weights in QUANTIZATIONS else "none"),
        cache=CacheConfig(
            tiers=tiers(size.pick(small=64, full=256), 512, tmp_path / "state"),
            secret=b"a secret of the tests",
            kv_memory=size.pick(small=10, full=160) * block_nbytes(model),
        ),
        device=DeviceConfig(cpu_kernels=instruction_set, cache_dir=kernels(instruction_set).build.path.parent.parent),
    )
    count = size.pick(small=6, full=200 if weights in ("none", "int8") else 40)
    prompts = prompts_up_to(size.pick(small=250, full=600), count, 250)
    check_everything(
        Exactness(recorder, config, prompts),
        chunks=size.pick(small=(64,), full=(16, 64, 512)),
        blocks=size.pick(small=7, full=12),
    )


def save_with_weights(folder: Path, weights: str) -> Path:
    """Write a small model whose weights can be computed in the format `weights`, and return `folder`."""
    if weights in QUANTIZATIONS:
        return make_tiny_model(folder, hidden=192, heads=3, kv_heads=1, **PANGU)
    file = write_block_gguf(folder.with_suffix(".gguf"), MIXES.get(weights, {"": weights}), context=1024)
    folder.mkdir()
    convert_gguf(file, folder, lambda _: None, keep_blocks=True)
    return folder


@pytest.mark.parametrize(
    "name",
    representatives(
        ["gemma2", "mistral, 80 wide", "phi3, long"],
        [*ONE_OF_EACH, "mistral, 80 wide", "phi3, long"],
    ),
)
def test_logits_of_a_family_are_exact_in_every_way(
    tmp_path: Path, kernels: KernelsFor, recorder: LogitsRecorder, name: str, size: Size
) -> None:
    model = save_family(tmp_path / "model", name)
    (tmp_path / "state").mkdir()
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(
            tiers=tiers(size.pick(small=64, full=256), 512, tmp_path / "state"),
            secret=b"a secret of the tests",
            kv_memory=size.pick(small=10, full=160) * block_nbytes(model),
        ),
        device=DeviceConfig(cache_dir=kernels("auto").build.path.parent.parent),
    )
    prompts = prompts_up_to(size.pick(small=250, full=600), size.pick(small=4, full=60), 250)
    check_everything(
        Exactness(recorder, config, prompts),
        chunks=size.pick(small=(64,), full=(16, 64, 512)),
        blocks=size.pick(small=7, full=12),
    )
