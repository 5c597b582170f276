"""The sampler over many steps: what stays on the device, and what the host copies there."""

from dataclasses import dataclass, field, replace
from random import Random

import pytest
import torch

from engine.api.sampling_params import SamplingParams
from engine.sampling.adjustments import Adjustments
from engine.sampling.sampler import Sampler, SamplingRow
from tests.fake_npu.host_copies import HostCopies
from tests.sizes import Size

VOCAB = 60
PENALTIES = SamplingParams(
    temperature=0.8, top_k=40, top_p=0.9, repetition_penalty=1.3, frequency_penalty=0.5, presence_penalty=0.25
)
KINDS = (
    SamplingParams(temperature=0.0),
    SamplingParams(temperature=0.0, repetition_penalty=1.7, frequency_penalty=-0.5),
    SamplingParams(temperature=1.0, presence_penalty=1.5),
    PENALTIES,
    SamplingParams(top_p=0.95, frequency_penalty=2.0, logit_bias=((5, 3.0), (7, -2.0), (59, 1.0))),
    SamplingParams(min_p=0.05, allowed_token_ids=(*range(40), 58), bad_word_ids=((3,),)),
    SamplingParams(top_k=5, repetition_penalty=0.6, bad_word_ids=((11,), (12, 13))),
    SamplingParams(temperature=0.3, top_k=20, min_p=0.2, logit_bias=((0, 1.5),)),
)


@dataclass
class Answer:
    """A request, its tokens so far, and the adjustments that a worker built when it received the request."""

    params: SamplingParams
    prompt: list[int]
    tokens: list[int] = field(default_factory=list)
    adjustments: Adjustments | None = None

    def __post_init__(self) -> None:
        self.adjustments = self.adjustments_now()

    def adjustments_now(self) -> Adjustments | None:
        return Adjustments.of(self.params, [*self.prompt, *self.tokens], len(self.prompt), VOCAB)

    def row(self, adjustments: Adjustments | None) -> SamplingRow:
        produced = len(self.tokens)
        return SamplingRow(self.params, len(self.prompt) + produced, produced, adjustments=adjustments)


def answer_of(random: Random, number: int) -> Answer:
    prompt = [random.randrange(VOCAB) for _ in range(random.choice((1, 2, 9, 40)))]
    return Answer(replace(random.choice(KINDS), seed=number), prompt)


@pytest.mark.parametrize("salt", range(4))
def test_tokens_equal_those_of_each_request_started_again(size: Size, salt: int) -> None:
    """Compare each token of a changing batch with that of a new sampler that receives all tokens so far at once."""
    random, sampler = Random(salt), Sampler()
    batch = [answer_of(random, number) for number in range(5)]
    for step in range(size.pick(small=30, full=300)):
        logits = 2 * torch.randn(len(batch), VOCAB, generator=torch.Generator().manual_seed(1000 * salt + step))
        tokens = sampler.sample(logits.clone(), [each.row(each.adjustments) for each in batch]).tolist()
        alone = [
            Sampler().sample(logits[at : at + 1].clone(), [each.row(each.adjustments_now())]).item()
            for at, each in enumerate(batch)
        ]
        assert tokens == alone
        for each, token in zip(batch, tokens, strict=True):
            each.tokens.append(token)
        if random.random() < 0.3:
            batch = random.sample(batch, random.randrange(1, len(batch) + 1))
            batch += [
                answer_of(random, 100 * (step + 1) + number) for number in range(random.randrange(6 - len(batch)))
            ]


@pytest.mark.parametrize("rows", [8, 32])
@pytest.mark.parametrize("vocab", [151_936, 262_144])
def test_steps_of_same_requests_copy_one_number_per_row(vocab: int, rows: int) -> None:
    """Decode with top_k, top_p and penalties, biases and a list of allowed tokens: no read, and one number per row."""
    params = replace(PENALTIES, logit_bias=((9, 1.0),), allowed_token_ids=tuple(range(0, vocab, 2)))
    logits = torch.randn(1, vocab).expand(rows, -1)
    adjusted = [Adjustments.of(params, list(range(100)), 90, vocab) for _ in range(rows)]
    sampler = Sampler()
    for step in range(3):
        batch = [
            SamplingRow(replace(params, seed=at), 100 + step, 10 + step, adjustments=how)
            for at, how in enumerate(adjusted)
        ]
        with HostCopies() as copies:
            sampler.sample(logits.clone(), batch)
        assert not copies.reads
    assert copies.elements == [rows]


def test_only_rows_that_may_keep_many_tokens_are_read() -> None:
    logits = torch.zeros(2, 5000)
    rows = [SamplingRow(replace(KINDS[0], temperature=1.0, top_p=0.5, seed=at), 3, 1) for at in range(2)]
    with HostCopies() as copies:
        Sampler().sample(logits.clone(), rows)
    assert copies.reads == [2]
    with HostCopies() as copies:
        Sampler().sample(logits.clone(), [replace(row, params=replace(row.params, top_k=1024)) for row in rows])
    assert not copies.reads


def test_lines_of_ended_requests_are_used_again() -> None:
    sampler = Sampler()
    for number in range(20):
        how = Adjustments.of(PENALTIES, [1, 2, number], 3, VOCAB)
        row = SamplingRow(replace(PENALTIES, seed=number), 3, 0, adjustments=how)
        sampler.sample(torch.zeros(1, VOCAB), [row])
    assert sampler._memory is not None
    assert len(sampler._memory.seen._counts) <= 2
