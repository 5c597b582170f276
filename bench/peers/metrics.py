"""Names of a run's figures, and the better direction of each."""

from dataclasses import dataclass

from bench.peers.arms import Setup
from bench.peers.plan import PeersPlan

RSS_READY = "memory.ready"
RSS_LOADED = "memory.loaded"
START = "start.ready"
LONG_TTFT = "long.ttft"
LONG_DECODE = "long.decode"


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run.

    key: key in the JSON, whose first part names the suite.
    higher_is_better: direction that decides which peer is the best.
    """

    key: str
    title: str
    unit: str
    higher_is_better: bool = False

    @property
    def suite(self) -> str:
        """Suite that measures the figure."""
        return self.key.partition(".")[0]


def decode_key(streams: int) -> str:
    """Name the throughput of `streams` streams."""
    return f"decode.{streams}"


def ttft_key(tokens: int, kind: str) -> str:
    """Name the time to the first token. `kind` is "cold" or "hit"."""
    return f"ttft.{tokens}.{kind}"


def turns_key(setup: Setup) -> str:
    """Name the mean over the later turns."""
    return f"turns.{'memory' if setup is Setup.TURNS_IN_MEMORY else 'scarce'}"


def turn_key(setup: Setup, turn: int) -> str:
    """Name one turn of the suite. Turns count from 1."""
    return f"{turns_key(setup)}.{turn}"


def metrics_of(plan: PeersPlan) -> tuple[Metric, ...]:
    """List every figure that a run of `plan` may measure, in the order of its tables."""
    found = [
        Metric(decode_key(streams), f"decode, {streams} stream{'s' * (streams > 1)}", "tok/s", higher_is_better=True)
        for streams in plan.decode_streams
    ]
    for kind, words in (("cold", "cold"), ("hit", "the same prompt again")):
        found += [Metric(ttft_key(tokens, kind), f"TTFT, {tokens:,} tokens, {words}", "ms") for tokens, _ in plan.ttft]
    found += [
        Metric("mixed.throughput", "mixed load, all tokens", "tok/s", higher_is_better=True),
        Metric("mixed.itl_p99", "mixed load, p99 ITL of the streams", "ms"),
        Metric("mixed.ttft", "mixed load, mean TTFT of the arrivals", "ms"),
    ]
    long = plan.long
    after = f"{long.streams} streams at {long.stream_prompt:,} tokens"
    found += [
        Metric(LONG_TTFT, f"TTFT, {long.prompt:,} tokens, cold", "ms"),
        Metric(LONG_DECODE, f"decode, {after}", "tok/s", higher_is_better=True),
    ]
    few = f"KV for {plan.turns.resident_chats} of {plan.turns.chats} chats"
    for setup, words in ((Setup.TURNS_SCARCE, few), (Setup.TURNS_IN_MEMORY, "all in memory")):
        found.append(Metric(turns_key(setup), f"turns 2 and later, {words}, mean TTFT", "ms"))
        found += [
            Metric(turn_key(setup, turn), f"turn {turn}, {words}", "ms") for turn in range(1, plan.turns.turns + 1)
        ]
    found += [
        Metric(RSS_READY, "RSS when ready", "MB"),
        Metric(RSS_LOADED, "RSS after a round", "MB"),
        Metric(START, "start to ready", "s"),
    ]
    return tuple(found)
