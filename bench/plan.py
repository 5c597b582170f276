"""Sizes of `bench.turns`: everything that determines its duration, in one value."""

from dataclasses import dataclass

from bench.workload import WorkloadShape

BLOCK_TOKENS = 64
# The default model's KV: 30 layers, K and V, 3 heads of 64.
KV_BYTES_PER_TOKEN = {"bfloat16": 23_040, "float32": 46_080}
# Tokens that the chat template adds to a message.
_TEMPLATE_TOKENS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of one run. Histories and prompts are in words, answers in tokens.

    shape, answer_tokens: sizes of the conversations.
    kill_before_turn: turn of the conversations before which a server is killed, counted from 1.
    history_words, question_words, rounds: sizes of the returning turn.
    exact_prompts, exact_tokens: prompts of the exactness section, with the same histories, and length of its answers.
    streams, stream_words, stream_tokens: sizes of the step time's streams.
    phases: phases of the step time, in each of which every arm is loaded once.
    """

    dtype: str
    shape: WorkloadShape
    answer_tokens: int
    kill_before_turn: int
    history_words: int
    question_words: int
    rounds: int
    exact_prompts: int
    exact_tokens: int
    streams: int
    stream_words: int
    stream_tokens: int
    phases: int

    def kv_bytes(self, tokens: int) -> int:
        """Return the bytes of KV for `tokens` tokens in whole blocks."""
        blocks = -(-tokens // BLOCK_TOKENS)
        return blocks * BLOCK_TOKENS * KV_BYTES_PER_TOKEN[self.dtype]

    @property
    def chat_tokens(self) -> int:
        """Upper estimate of one whole conversation in tokens, including answers and template."""
        words = self.shape.system_words + self.shape.turns * self.shape.question_words
        return _tokens(words) + self.shape.turns * (self.answer_tokens + 2 * _TEMPLATE_TOKENS)

    @property
    def history_tokens(self) -> int:
        """Upper estimate of a returning turn's whole context in tokens, including its answer."""
        return _tokens(self.history_words + self.question_words) + 14 * _TEMPLATE_TOKENS + self.exact_tokens

    @property
    def stream_context(self) -> int:
        """Upper estimate of one decoding stream's context at its end, in tokens."""
        return _tokens(self.stream_words) + 14 * _TEMPLATE_TOKENS + self.stream_tokens


def full_plan(dtype: str, *, shared_system: bool = False) -> Plan:
    """Plan 8 chats of 6 turns, with contexts of up to about 2,000 tokens."""
    return Plan(
        dtype=dtype,
        shape=WorkloadShape(shared_system=shared_system),
        answer_tokens=64,
        kill_before_turn=4,
        history_words=1_700,
        question_words=30,
        rounds=5,
        exact_prompts=4,
        exact_tokens=64,
        streams=8,
        stream_words=400,
        stream_tokens=160,
        phases=5,
    )


def quick_plan(dtype: str, *, shared_system: bool = False) -> Plan:
    """Plan the same run with sizes that only prove that the benchmark runs."""
    return Plan(
        dtype=dtype,
        shape=WorkloadShape(chats=3, turns=3, system_words=20, question_words=50, shared_system=shared_system),
        answer_tokens=8,
        kill_before_turn=3,
        history_words=200,
        question_words=20,
        rounds=1,
        exact_prompts=3,
        exact_tokens=8,
        streams=8,
        stream_words=24,
        stream_tokens=24,
        phases=1,
    )


def _tokens(words: int) -> int:
    # Measured with the default model's vocabulary: 1.14 tokens a word, full stops included.
    return words * 6 // 5
