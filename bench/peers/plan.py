"""Sizes of `bench.peers`: everything that determines its duration, in one value."""

from dataclasses import dataclass

from bench.plan import BLOCK_TOKENS, KV_BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class TurnsPlan:
    """Multi-turn suite: `chats` take turns round robin, one request at a time. Sizes are in tokens."""

    chats: int = 8
    turns: int = 6
    system_tokens: int = 600
    question_tokens: int = 120
    answer_tokens: int = 64
    resident_chats: int = 2
    """Number of chats whose KV fits on the device in the scarce setup."""

    @property
    def chat_tokens(self) -> int:
        """Tokens of one whole chat, including its last answer."""
        return self.system_tokens + self.turns * (self.question_tokens + self.answer_tokens)


@dataclass(frozen=True, slots=True)
class MixedPlan:
    """Mixed load: `streams` decode while a prompt arrives every `interval` seconds. Sizes are in tokens."""

    streams: int = 8
    stream_prompt: int = 64
    stream_tokens: int = 192
    arrivals: tuple[int, ...] = (256, 1_024, 64, 512, 1_536, 128)
    arrival_tokens: int = 32
    interval: float = 0.2


@dataclass(frozen=True, slots=True)
class LongPlan:
    """Long prompts: one alone, then `streams` that decode together behind separate prompts. Sizes are in tokens."""

    prompt: int = 6_000
    streams: int = 4
    stream_prompt: int = 5_000
    stream_tokens: int = 128

    @property
    def window(self) -> int:
        """Tokens of the longest prompt and its answer, in whole blocks of 128."""
        return whole_blocks(max(self.prompt, self.stream_prompt) + self.stream_tokens, 128)


@dataclass(frozen=True, slots=True)
class PeersPlan:
    """Sizes of one run, in tokens.

    decode_streams: numbers of streams that decode together.
    ttft: prompt lengths, each with its number of measurements per round.
    turns_every: interval in rounds of the multi-turn suite, which takes a long time and already averages 40 turns, and
        of the suite of long prompts.
    kv_bytes_of_token: bytes of one token's keys and values in bfloat16.
    cpu_tier_bytes: size of Ebb's CPU tier.
    """

    rounds: int = 7
    decode_streams: tuple[int, ...] = (1, 8, 32)
    decode_prompt: int = 24
    decode_tokens: int = 128
    ttft: tuple[tuple[int, int], ...] = ((128, 3), (512, 3), (2_048, 1))
    mixed: MixedPlan = MixedPlan()
    turns: TurnsPlan = TurnsPlan()
    long: LongPlan = LongPlan()
    turns_every: int = 3
    kv_bytes_of_token: int = KV_BYTES_PER_TOKEN["bfloat16"]
    cpu_tier_bytes: int = 512 << 20

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt and its answer, in whole blocks of 128: the window that servers need."""
        longest = max(*(length for length, _ in self.ttft), *self.mixed.arrivals, self.turns.chat_tokens)
        return whole_blocks(longest + self.decode_tokens, 128)

    def kv_bytes(self, tokens: int) -> int:
        """Return the bytes of the model's KV for `tokens` tokens in whole blocks of Ebb's."""
        return whole_blocks(tokens, BLOCK_TOKENS) * self.kv_bytes_of_token

    def measures_turns(self, round_number: int) -> bool:
        """Return whether the suites of turns and of long prompts are part of this round. Rounds count from 0."""
        return round_number % self.turns_every == 0


def quick_plan() -> PeersPlan:
    """Return a plan of one round, with sizes that only prove that the benchmark runs."""
    return PeersPlan(
        rounds=1,
        decode_streams=(1, 8),
        decode_tokens=32,
        ttft=((128, 1), (512, 1)),
        mixed=MixedPlan(stream_tokens=48, arrivals=(256, 64), arrival_tokens=8),
        turns=TurnsPlan(chats=4, turns=3, answer_tokens=16, resident_chats=1),
        long=LongPlan(prompt=640, streams=2, stream_prompt=512, stream_tokens=16),
    )


def large_plan(kv_bytes_of_token: int) -> PeersPlan:
    """Return the plan for a larger model than the default one, whose servers all fit the memory together."""
    return PeersPlan(
        rounds=3,
        decode_tokens=64,
        ttft=((512, 2),),
        mixed=MixedPlan(arrivals=(256, 64)),
        turns=TurnsPlan(chats=4, turns=2, system_tokens=120),
        kv_bytes_of_token=kv_bytes_of_token,
        cpu_tier_bytes=64 << 20,
    )


def whole_blocks(tokens: int, block: int) -> int:
    """Round `tokens` up to whole blocks of `block`."""
    return -(-tokens // block) * block
