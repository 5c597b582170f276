"""A request's changes to its logits before sampling, as arrays that kernels read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.api.sampling_params import SamplingParams
from engine.sampling.masks import Words, words_of_ids

Ints = npt.NDArray[np.int32]


class SeenTokens:
    """The distinct tokens of a prompt and its answer, with the number of occurrences in the answer.

    ids, counts: [capacity] int32, of which the first num[0] are in use.
    num: [1] int32.

    The native kernels add each token that they sample. Tokens without room are dropped: they come after the end of the
    answer. A device counts them in a separate copy (`engine.sampling.seen_table`).
    """

    def __init__(self, prompt: Sequence[int], answer: Sequence[int], room: int) -> None:
        """Create the arrays, with room for `room` distinct tokens in addition to the given ones."""
        known, counts = np.unique(np.array(answer, dtype=np.int32), return_counts=True)
        others = np.setdiff1d(np.array(prompt, dtype=np.int32), known)
        size = len(known) + len(others)
        self.ids: Ints = np.zeros(size + room, dtype=np.int32)
        self.counts: Ints = np.zeros(size + room, dtype=np.int32)
        self.num: Ints = np.array([size], dtype=np.int32)
        self.ids[:size] = np.concatenate((known, others))
        self.counts[: len(known)] = counts

    def known(self) -> tuple[Ints, Ints]:
        """Return the ids and counts in use."""
        size = int(self.num[0])
        return self.ids[:size], self.counts[:size]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Adjustments:
    """Changes to logits: biases are added, tokens in `seen` are penalized, then tokens not in `allowed` are barred.

    params: source of the penalties.
    bias_ids, biases: [B] int32 and float32.
    seen: None without penalties.
    allowed: bits of the allowed ids (`engine.sampling.masks`); None if all are.
    """

    params: SamplingParams
    bias_ids: Ints
    biases: npt.NDArray[np.float32]
    seen: SeenTokens | None
    allowed: Words | None

    @classmethod
    def of(
        cls, params: SamplingParams, token_ids: Sequence[int], prompt_len: int, vocab_size: int
    ) -> "Adjustments | None":
        """Create the adjustments of a request; None if it needs none. `token_ids`: the prompt and the answer so far."""
        barred = [words[0] for words in params.bad_word_ids if len(words) == 1]
        if not (params.logit_bias or params.has_penalties or params.allowed_token_ids or barred):
            return None
        allowed = None
        if params.allowed_token_ids or barred:
            allowed = words_of_ids(params.allowed_token_ids or range(vocab_size), vocab_size)
            allowed &= ~words_of_ids(barred, vocab_size)
        seen = None
        if params.has_penalties:
            most = vocab_size if params.max_tokens is None else params.max_tokens
            seen = SeenTokens(token_ids[:prompt_len], token_ids[prompt_len:], min(most, vocab_size))
        ids, biases = zip(*params.logit_bias, strict=True) if params.logit_bias else ((), ())
        return cls(params, np.array(ids, dtype=np.int32), np.array(biases, dtype=np.float32), seen, allowed)
