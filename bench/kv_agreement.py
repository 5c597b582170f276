"""Effect of lossy KV codecs on answers: greedy tokens compared with those of exact KV.

The full blocks of a prompt are computed once and pass through a codec as if they came from Redis. The kernels of the
server then compute the rest of the prompt and the answer. Agreement is measured in two ways.

In free agreement, each answer continues with its own tokens, and tokens are compared place by place. This is what a
user sees, but after their first difference two answers share little. In forced agreement, all answers continue with the
tokens of the exact one, so that each place counts for itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import torch

from bench.kv_codecs import Codec
from bench.quality import TEXTS, Positions, compare
from bench.stats import share
from engine.api.sampling_params import SamplingParams
from engine.cpu.build import build_kernels
from engine.cpu.instruction_set import InstructionSet
from engine.cpu.library import Kernels
from engine.cpu.weights import PackedModel
from engine.sampling.sampler import SamplingRow
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.native.native_step import NativeRunner
from engine.worker.native.step_arrays import PAGE_KEYS
from models.chat.format import ChatFormat, Message
from models.decoder.config import DecoderConfig
from models.decoder.model import DecoderForCausalLM
from models.registry import load_model, read_config
from models.tokenizers.text_tokenizer import load_tokenizer
from models.weights.folder import ModelFolder

TASKS: Final = (
    "Summarise this text in a few sentences.",
    "What is this text about, and for whom was it written?",
    "List the five most important points of this text.",
    "Continue this text in the same style.",
)
CUTS: Final = (520, 600)
SHORTEST: Final = 500
LONGEST: Final = 1100
ANSWER: Final = 96
PROMPTS_AT_ONCE: Final = 3
SAMPLED: Final = SHORTEST // PAGE_KEYS
GREEDY: Final = SamplingParams(temperature=0.0)
_BLOCKS: Final = -(-(LONGEST + ANSWER) // PAGE_KEYS)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    kind: "chat" for a text with a task, in the model's template; "text" for the beginning of a text.
    """

    kind: str
    token_ids: list[int]

    @property
    def num_restored(self) -> int:
        """Number of blocks that come from Redis: all full ones that leave a token to compute."""
        return (len(self.token_ids) - 1) // PAGE_KEYS


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and the blocks in which its KV is computed, which belong to it alone."""

    prompt: Prompt
    block_ids: list[int]

    @property
    def restored_blocks(self) -> list[int]:
        """Ids of the blocks that come from Redis."""
        return self.block_ids[: self.prompt.num_restored]

    def beginning(self) -> ScheduledRequest:
        """Schedule the part of the prompt that Redis may deliver instead."""
        return ScheduledRequest(
            request_id="",
            token_ids=self.prompt.token_ids[: self._num_restored_tokens],
            context_len=0,
            block_ids=self.block_ids,
        )

    def rest(self) -> ScheduledRequest:
        """Schedule the rest of the prompt. This samples the first token."""
        return self._sampling(self.prompt.token_ids[self._num_restored_tokens :], self._num_restored_tokens)

    def go_on(self, token: int, number: int) -> ScheduledRequest:
        """Schedule the step after token `number` of the answer."""
        return self._sampling([token], len(self.prompt.token_ids) + number)

    @property
    def _num_restored_tokens(self) -> int:
        return self.prompt.num_restored * PAGE_KEYS

    def _sampling(self, token_ids: list[int], context_len: int) -> ScheduledRequest:
        row = SamplingRow(GREEDY, position=context_len + len(token_ids), produced=0)
        return ScheduledRequest(
            request_id="", token_ids=token_ids, context_len=context_len, block_ids=self.block_ids, sampling=(row,)
        )


@dataclass(frozen=True, slots=True)
class Places:
    """Comparison of one arm's answer to one prompt with the exact answer, up to the exact one's end.

    free, forced: whether the tokens agree, place by place.
    divergence: divergence from the exact distribution at each forced place, in nats.
    """

    kind: str
    free: list[bool]
    forced: list[bool]
    divergence: list[float]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of one arm over all prompts. Shares are from 0 to 1.

    free, forced: share of all tokens.
    whole: share of answers that are equal to their end.
    kl: mean divergence, in nats.
    """

    free: float
    free_by_kind: dict[str, float]
    whole: float
    forced: float
    kl: float


def block_shape(folder: Path) -> tuple[int, ...]:
    """Return the shape of a block of the model in `folder`, in the native step's layout."""
    config = read_config(ModelFolder(folder).config())
    return (config.num_layers, 2, config.num_kv_heads, PAGE_KEYS, config.head_dim)


def make_prompts(folder: Path) -> list[Prompt]:
    """Make a prompt from each text of bench/quality_text with every task, and from its beginning at each of CUTS."""
    tokenizer = load_tokenizer(folder)
    chat = ChatFormat.load(folder, tokenizer)
    prompts: list[Prompt] = []
    for file in sorted(TEXTS.glob("*.txt")):
        text = file.read_text(encoding="utf-8")
        prompts += [Prompt("chat", chat.render([Message("user", f"{text}\n\n{task}")])) for task in TASKS]
        prompts += [Prompt("text", tokenizer.encode(text, special=False)[:cut]) for cut in CUTS]
    lengths = [len(prompt.token_ids) for prompt in prompts]
    assert min(lengths) >= SHORTEST, f"a prompt has only {min(lengths)} tokens"
    assert max(lengths) <= LONGEST, f"a prompt has {max(lengths)} tokens"
    return prompts


Restore = Callable[[Answer, Answer], None]
"""Function that fills the restored blocks of the second answer. The first holds the exact KV of the same prompt."""


class Laboratory:
    """The native step over one pool of blocks.

    Each way to obtain the beginning of a prompt is an arm: each codec, and the kernels of `other`. The latter show the
    effect of changing only the instructions.
    """

    def __init__(
        self, folder: Path, build: InstructionSet, other: InstructionSet | None, codecs: Sequence[Codec], cache: Path
    ) -> None:
        """Load the model once per instruction set. `cache` is the folder of compiled kernels."""
        config = read_config(ModelFolder(folder).config())
        most_answers = PROMPTS_AT_ONCE * (len(codecs) + 2)
        self._kv = torch.zeros((most_answers * _BLOCKS, *block_shape(folder)), dtype=torch.bfloat16)
        self._eos = frozenset(load_tokenizer(folder).eos_token_ids)
        self._runner = self._open(folder, config, build, cache)
        self._arms: dict[str, Restore] = {codec.name: partial(self._through, codec) for codec in codecs}
        if other is not None:
            self._arms[other.name] = partial(self._computed, self._open(folder, config, other, cache))

    def _open(self, folder: Path, config: DecoderConfig, build: InstructionSet, cache: Path) -> NativeRunner:
        model = load_model(folder, torch.bfloat16, torch.device("cpu"))
        assert isinstance(model, DecoderForCausalLM)
        packed = PackedModel(Kernels(build_kernels(build, cache, print)), config, model, threads=1)
        # One thread computes the same bits as many, and never waits for other threads on a busy machine.
        return NativeRunner(packed, self._kv, threads=1)

    def _through(self, codec: Codec, exact: Answer, own: Answer) -> None:
        for source, target in zip(exact.restored_blocks, own.restored_blocks, strict=True):
            codec.decode(codec.encode(self._kv[source]), self._kv[target])

    @staticmethod
    def _computed(runner: NativeRunner, _exact: Answer, own: Answer) -> None:
        runner.compute([own.beginning()])

    def sample(self) -> list[torch.Tensor]:
        """Copy exact blocks of a recently measured prompt, each bfloat16 of `block_shape`."""
        return list(self._kv[:SAMPLED].clone())

    def measure(self, prompts: Sequence[Prompt]) -> dict[str, list[Places]]:
        """Compare the answers to at most PROMPTS_AT_ONCE prompts. Return a comparison for each prompt, by arm."""
        exact, *arms = (self._answers(prompts, arm) for arm in range(1 + len(self._arms)))
        for answer in exact:
            self._runner.compute([answer.beginning()])
        for restore, own in zip(self._arms.values(), arms, strict=True):
            for each in zip(exact, own, strict=True):
                restore(*each)
        others = [answer for own in arms for answer in own]
        tokens, forced = self._forced(exact, others)
        free = self._free(others)
        found: dict[str, list[Places]] = {name: [] for name in self._arms}
        for at, name in enumerate(name for name in self._arms for _ in prompts):
            expected = tokens[at % len(prompts)]
            length = next((n for n, token in enumerate(expected, 1) if token in self._eos), ANSWER)
            places = Places(
                others[at].prompt.kind,
                [ours == theirs for ours, theirs in zip(free[at], expected, strict=True)][:length],
                [positions.agrees[at] for positions in forced[:length]],
                [positions.divergence[at] for positions in forced[:length]],
            )
            found[name].append(places)
        return found

    def _answers(self, prompts: Sequence[Prompt], arm: int) -> list[Answer]:
        first = arm * PROMPTS_AT_ONCE
        return [
            Answer(prompt, list(range(at * _BLOCKS, (at + 1) * _BLOCKS))) for at, prompt in enumerate(prompts, first)
        ]

    def _forced(self, exact: Sequence[Answer], others: Sequence[Answer]) -> tuple[list[list[int]], list[Positions]]:
        """Force the tokens of the exact answers on the others. Return these tokens, and the predictions by place."""
        answers = [*exact, *others]
        tokens: list[list[int]] = [[] for _ in exact]
        forced: list[Positions] = []
        batch = [answer.rest() for answer in answers]
        for number in range(ANSWER):
            computed = self._runner.compute(batch, range(len(batch)))
            for own, token in zip(tokens, computed.tokens[: len(exact)], strict=True):
                own.append(token)
            given = [tokens[at % len(exact)][-1] for at in range(len(answers))]
            logits, reference = computed.logits[len(exact) :], computed.logits[: len(exact)]
            forced.append(compare(logits, reference.repeat(len(others) // len(exact), 1), given[len(exact) :]))
            batch = [answer.go_on(token, number) for answer, token in zip(answers, given, strict=True)]
        return tokens, forced

    def _free(self, answers: Sequence[Answer]) -> list[list[int]]:
        """Generate each answer's own tokens."""
        tokens: list[list[int]] = [[] for _ in answers]
        batch = [answer.rest() for answer in answers]
        for number in range(ANSWER):
            chosen = self._runner.compute(batch).tokens
            for own, token in zip(tokens, chosen, strict=True):
                own.append(token)
            batch = [answer.go_on(token, number) for answer, token in zip(answers, chosen, strict=True)]
        return tokens


def measure_agreement(laboratory: Laboratory, prompts: Sequence[Prompt]) -> dict[str, Agreement]:
    """Measure all prompts and return the agreement by arm. Print progress."""
    found: dict[str, list[Places]] = {}
    for start in range(0, len(prompts), PROMPTS_AT_ONCE):
        group = prompts[start : start + PROMPTS_AT_ONCE]
        for name, places in laboratory.measure(group).items():
            found.setdefault(name, []).extend(places)
        print(f"agreement: {start + len(group)} of {len(prompts)} prompts", flush=True)
    return {name: summarise(places) for name, places in found.items()}


def summarise(answers: Sequence[Places]) -> Agreement:
    """Aggregate the answers of one arm. All places count equally."""
    kinds = dict.fromkeys(each.kind for each in answers)
    divergence = [value for each in answers for value in each.divergence]
    return Agreement(
        free=share([flag for each in answers for flag in each.free]),
        free_by_kind={
            kind: share([flag for each in answers if each.kind == kind for flag in each.free]) for kind in kinds
        },
        whole=share([all(each.free) for each in answers]),
        forced=share([flag for each in answers for flag in each.forced]),
        kl=sum(divergence) / len(divergence),
    )
