"""How much `bench.peers` measures: everything that sets its length in one value."""

from dataclasses import dataclass

from bench.plan import BLOCK_TOKENS, KV_BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class TurnsPlan:
    """The multi-turn suite: `chats` take turns round robin, one request at a time. Sizes in tokens."""

    chats: int = 8
    turns: int = 6
    system_tokens: int = 600
    question_tokens: int = 120
    answer_tokens: int = 64
    resident_chats: int = 2
    """Chats whose KV the scarce setup holds on the device."""

    @property
    def chat_tokens(self) -> int:
        """One whole chat, its last answer included."""
        return self.system_tokens + self.turns * (self.question_tokens + self.answer_tokens)


@dataclass(frozen=True, slots=True)
class MixedPlan:
    """`streams` decode while prompts arrive, one every `interval` seconds. Sizes in tokens."""

    streams: int = 8
    stream_prompt: int = 64
    stream_tokens: int = 192
    arrivals: tuple[int, ...] = (256, 1_024, 64, 512, 1_536, 128)
    arrival_tokens: int = 32
    interval: float = 0.2


@dataclass(frozen=True, slots=True)
class PeersPlan:
    """Sizes of one run, in tokens.

    decode_streams: numbers of streams that decode together. ttft: length of a prompt -> how often it is measured in a
    round. turns_every: the multi-turn suite takes long and is an average of 40 turns already: not in every round.
    """

    rounds: int = 7
    decode_streams: tuple[int, ...] = (1, 8, 32)
    decode_prompt: int = 24
    decode_tokens: int = 128
    ttft: tuple[tuple[int, int], ...] = ((128, 3), (512, 3), (2_048, 1))
    mixed: MixedPlan = MixedPlan()
    turns: TurnsPlan = TurnsPlan()
    turns_every: int = 3

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt and its answer, in whole blocks of 128: the window that servers need."""
        longest = max(*(length for length, _ in self.ttft), *self.mixed.arrivals, self.turns.chat_tokens)
        return whole_blocks(longest + self.decode_tokens, 128)

    def measures_turns(self, round_number: int) -> bool:
        """Whether the multi-turn suite is part of this round; rounds count from 0."""
        return round_number % self.turns_every == 0


def quick_plan() -> PeersPlan:
    """One round on a size that proves only that it runs."""
    return PeersPlan(
        rounds=1,
        decode_streams=(1, 8),
        decode_tokens=32,
        ttft=((128, 1), (512, 1)),
        mixed=MixedPlan(stream_tokens=48, arrivals=(256, 64), arrival_tokens=8),
        turns=TurnsPlan(chats=4, turns=3, answer_tokens=16, resident_chats=1),
    )


def kv_bytes(tokens: int) -> int:
    """Bytes of the default model's KV for `tokens` tokens in whole blocks of Ebb's."""
    return whole_blocks(tokens, BLOCK_TOKENS) * KV_BYTES_PER_TOKEN["bfloat16"]


def whole_blocks(tokens: int, block: int) -> int:
    """`tokens` rounded up to whole blocks of `block`."""
    return -(-tokens // block) * block
