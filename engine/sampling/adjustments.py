"""What one request wants changed about its logits before a token is chosen, as arrays that kernels read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.sampling.mask_words import Words, words_of_ids
from engine.sampling_params import SamplingParams

Ints = npt.NDArray[np.int32]


class SeenTokens:
    """The tokens of a prompt and its answer, each once, and how often each is in the answer.

    ids, counts: [room] int32, of which the first num[0] are in use; num: [1]. Whoever chooses tokens adds them, the
    kernels themselves. What comes when there is no more room is nobody's: it lies behind the end of the answer.
    """

    def __init__(self, prompt: Sequence[int], answer: Sequence[int], room: int) -> None:
        """room: for so many different tokens beside those that are here."""
        known, counts = np.unique(np.array(answer, dtype=np.int32), return_counts=True)
        others = np.setdiff1d(np.array(prompt, dtype=np.int32), known)
        size = len(known) + len(others)
        self.ids: Ints = np.zeros(size + room, dtype=np.int32)
        self.counts: Ints = np.zeros(size + room, dtype=np.int32)
        self.num: Ints = np.array([size], dtype=np.int32)
        self.ids[:size] = np.concatenate((known, others))
        self.counts[: len(known)] = counts

    def known(self) -> tuple[Ints, Ints]:
        """ids and counts, those in use."""
        size = int(self.num[0])
        return self.ids[:size], self.counts[:size]

    def add(self, token_id: int) -> None:
        """It has been chosen."""
        size = int(self.num[0])
        place = np.flatnonzero(self.ids[:size] == token_id)
        if len(place):
            self.counts[place[0]] += 1
        elif size < len(self.ids):
            self.ids[size], self.counts[size] = token_id, 1
            self.num[0] = size + 1


@dataclass(frozen=True, slots=True)
class Adjustments:
    """In this order: biases are added, the tokens in `seen` get the penalties of the params, and what `allowed` leaves
    out may not come.

    bias_ids, biases: [B] int32 and float32. seen: None without penalties. allowed: None if everything is.
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
        """None if nothing is to be changed. token_ids: the prompt, and what the answer has so far."""
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
