"""Published results, derived from samples: medians, spreads, ratios to the best peer, and the targets. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.peers.arms import BF16, EBB, Setup
from bench.peers.metrics import LONG_DECODE, LONG_TTFT, Metric, decode_key, ttft_key, turns_key
from bench.peers.record import Record
from bench.report import Target
from bench.stats import Spread, median, spread

EBB_BF16 = f"{EBB} {BF16}"
EBB_INT8 = f"{EBB} int8"
EBB_INT4 = f"{EBB} int4"
EBB_INT4_PLAIN = f"{EBB_INT4}-plain"
FOUR_BITS = ("Q4_0", "Q4_K_M")
"""llama.cpp's kinds of 4-bit weights that Ebb is compared with."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratio of one arm of Ebb to the best peer.

    A machine drifts between rounds, so the ratio is taken within each round.

    median, low, high: median, least and greatest ratio of the rounds.
    rounds: number of rounds with both values.
    """

    metric: str
    arm: str
    peer: str
    median: float
    low: float
    high: float
    rounds: int


def spreads(record: Record, metrics: Sequence[Metric]) -> dict[str, dict[str, Spread]]:
    """Return the spread of each arm's values, by metric and arm. Metrics without values are left out."""
    return {
        metric.key: {arm: spread(record.values(metric.key, arm)) for arm in record.arms(metric.key)}
        for metric in metrics
        if record.arms(metric.key)
    }


def ratio_to_best(record: Record, metric: Metric, arm: str, *, kinds: Sequence[str] = ()) -> Ratio | None:
    """Compare `arm` with the peer of the best median. Return None if either has no value.

    kinds: the kinds of weights that count; empty for all.
    """
    medians = {
        peer: median(record.values(metric.key, peer))
        for peer in record.arms(metric.key)
        if not peer.startswith(EBB) and (not kinds or peer.rpartition(" ")[2] in kinds)
    }
    if not medians:
        return None
    best = (max if metric.higher_is_better else min)(medians, key=lambda peer: medians[peer])
    ours, theirs = record.by_round(metric.key, arm), record.by_round(metric.key, best)
    ratios = [ours[number] / theirs[number] for number in ours if number in theirs]
    if not ratios:
        return None
    return Ratio(metric.key, arm, best, median(ratios), min(ratios), max(ratios), len(ratios))


def ratios(record: Record, metrics: Sequence[Metric]) -> list[Ratio]:
    """Compare each arm of Ebb with the best peer of any precision."""
    found = (
        ratio_to_best(record, metric, arm)
        for metric in metrics
        for arm in record.arms(metric.key)
        if arm.startswith(EBB)
    )
    return [ratio for ratio in found if ratio is not None]


def targets(record: Record, metrics: Sequence[Metric]) -> list[Target]:
    """List Ebb's targets against its peers, on the default model.

    A bound above 1 is a lower bound of a figure for which higher is better. Other bounds are upper bounds. A metric
    that was not measured has no value, and its target is missed.
    """
    target = _target_maker(record, metrics)

    def again(tokens: int, peer: str, arm: str, kinds: Sequence[str] = ()) -> Target:
        claim = f"TTFT, {tokens:,} tokens again, over the {peer}"
        return target(claim, ttft_key(tokens, "hit"), 1.0, arm, kinds)

    decode = "tok/s at {} stream{} over the best bf16 peer"
    return [
        *(
            target(decode.format(streams, "s" * (streams > 1)), decode_key(streams), bound, EBB_BF16, (BF16,))
            for streams, bound in ((1, 1.15), (8, 2.2), (32, 2.4))
        ),
        target("tok/s at 4 streams at 5,000 tokens over the best bf16 peer", LONG_DECODE, 2.0, kinds=(BF16,)),
        target("int8: tok/s at 1 stream over the best peer", decode_key(1), 1.4, EBB_INT8),
        *(
            target(f"TTFT, {tokens} tokens cold, over the best bf16 peer", key, bound, kinds=(BF16,))
            for tokens, key, bound in (
                ("512", ttft_key(512, "cold"), 0.8),
                ("2,048", ttft_key(2_048, "cold"), 0.75),
                ("6,000", LONG_TTFT, 0.65),
            )
        ),
        *(again(tokens, "best bf16 peer", EBB_BF16, (BF16,)) for tokens in (128, 512, 2_048)),
        *(again(tokens, "best peer, with int8 weights", EBB_INT8) for tokens in (128, 512, 2_048)),
        *(again(tokens, "best peer of any weights", EBB_BF16) for tokens in (128, 512, 2_048)),
        target("turns 2 and later, KV for few chats, over the best peer", turns_key(Setup.TURNS_SCARCE), 0.35),
        target("turns 2 and later, all in memory, over the best peer", turns_key(Setup.TURNS_IN_MEMORY), 0.75),
    ]


def large_model_targets(record: Record, metrics: Sequence[Metric]) -> list[Target]:
    """List Ebb's targets on larger models: 4-bit weights against each 4-bit kind of llama.cpp, without guessed tokens.

    Each kind is compared with weights that Ebb quantized, and with the very same file.
    """
    target = _target_maker(record, metrics)
    found = []
    for kind in FOUR_BITS:
        for name, arm in (("int4", EBB_INT4_PLAIN), ("same file", f"{EBB} {kind}-plain")):
            for streams, bound in ((1, 1.15), (8, 2.5), (32, 2.5)):
                claim = f"{name}: tok/s at {streams} stream{'s' * (streams > 1)} over {kind}"
                found.append(target(claim, decode_key(streams), bound, arm, (kind,)))
            found.append(
                target(f"{name}: TTFT, 512 tokens cold, over {kind}", ttft_key(512, "cold"), 0.5, arm, (kind,))
            )
    return found


class _MakeTarget(Protocol):
    def __call__(
        self, claim: str, key: str, bound: float, arm: str = EBB_BF16, kinds: Sequence[str] = ()
    ) -> Target: ...


def _target_maker(record: Record, metrics: Sequence[Metric]) -> _MakeTarget:
    """Return a function that compares an arm of Ebb with the best peer whose weights are of one of some kinds."""
    by_key = {metric.key: metric for metric in metrics}

    def target(claim: str, key: str, bound: float, arm: str = EBB_BF16, kinds: Sequence[str] = ()) -> Target:
        metric = by_key.get(key)
        ratio = ratio_to_best(record, metric, arm, kinds=kinds) if metric else None
        against = f" ({ratio.peer})" if ratio else ""
        return Target(claim + against, ratio.median if ratio else None, bound, at_least=bound > 1)

    return target
