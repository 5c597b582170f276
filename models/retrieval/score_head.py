"""The score of a document, from the vector that the engine returns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class LabelHead:
    """The label of an encoder, whose logit the engine computes itself."""

    pooling: ClassVar[Literal["label"]] = "label"

    def score(self, logit: Sequence[float]) -> float:
        """Return the relevance, 0 to 1: the sigmoid of the logit [1]."""
        return sigmoid(logit[0])


@dataclass(frozen=True, slots=True)
class ScoreHead:
    """Rows of the output matrix whose logits are the score.

    accept: row [hidden] of the logit for a relevant document.
    reject: row [hidden] of the logit against it; None for a head of one row.
    scale, softcap: as `logits_scale` and `logits_softcap` of the decoder.
    """

    accept: Sequence[float]
    reject: Sequence[float] | None = None
    pooling: ClassVar[Literal["last"]] = "last"
    scale: float = 1.0
    softcap: float = 0.0

    def score(self, hidden: Sequence[float]) -> float:
        """Return the relevance, 0 to 1: the sigmoid of the logit, or the probability of one word against the other.

        hidden: final hidden state of the last token, [hidden].
        """
        logit = self._logit(self.accept, hidden)
        if self.reject is not None:
            logit -= self._logit(self.reject, hidden)
        return sigmoid(logit)

    def _logit(self, row: Sequence[float], hidden: Sequence[float]) -> float:
        logit = self.scale * math.fsum(a * b for a, b in zip(row, hidden, strict=True))
        return self.softcap * math.tanh(logit / self.softcap) if self.softcap else logit


def sigmoid(value: float) -> float:
    """Return 1 / (1 + exp(-value)), without an overflow."""
    part = math.exp(-abs(value))
    return (1.0 if value >= 0 else part) / (1.0 + part)
