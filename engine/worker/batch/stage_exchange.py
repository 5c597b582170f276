"""The passes of one pipeline stage: hidden states from stage to stage, and tokens from the last stage to all."""

from collections import deque
from collections.abc import Collection, Sequence

import torch

from engine.worker.batch.input_batch import ExpectedTokens, InputBatch
from engine.worker.batch.stage_link import StageLink, most_unheard
from models.interface.partition import Stage


class StageExchange:
    """Exchange of one process with the other stages. For each pass, call `begin`, then `end` or `fail`.

    The last stage sends tokens to the others, whose batches need them: the first stage embeds them, and all count the
    accepted tokens of a draft. A pass without samples has no such message.

    stage: the layers of this process.
    """

    def __init__(self, stage: Stage, link: StageLink, hidden: torch.Tensor, *, speaks: bool) -> None:
        """Create an exchange.

        hidden: any tensor of the dtype and on the device of hidden states, whose last dimension is theirs.
        speaks: whether this process sends the tokens, if it is on the last stage.
        """
        self.stage = stage
        self._link = link
        self._like = hidden
        self._speaks = speaks and stage.is_last
        self._unheard: deque[ExpectedTokens] = deque()

    def begin(self, batch: InputBatch, request_ids: Collection[str]) -> None:
        """Wait until all tokens of the requests are known to `batch`."""
        newest, most = batch.newest_expected(request_ids), most_unheard(self._link.num_stages)
        while self._unheard and (self._unheard[0].number <= newest or len(self._unheard) > most):
            expected = self._unheard.popleft()
            expected.fill(self._link.hear(expected.num_samples))

    def inputs(self, rows: int) -> torch.Tensor | None:
        """Wait for the hidden states [rows, hidden] of the stage before; return None on the first stage."""
        if self.stage.is_first:
            return None
        hidden = self._like.new_empty(rows, self._like.shape[-1])
        self._link.receive(hidden)
        return hidden

    def pass_on(self, hidden: torch.Tensor, expected: ExpectedTokens) -> None:
        """End a pass with hidden states for the next stage."""
        self._link.send(hidden)
        if expected.num_samples:
            self._unheard.append(expected)

    def end(self, tokens: Sequence[int], expected: ExpectedTokens) -> dict[str, tuple[int, ...]]:
        """End a pass with the tokens that the last stage sampled. Return the accepted ones by request id."""
        self._tell(tokens)
        return expected.fill(tokens)

    def fail(self, expected: ExpectedTokens) -> None:
        """End a pass that failed on the last stage. The requests are dropped, but the others wait for a message."""
        self._tell([0] * expected.num_samples)

    def _tell(self, tokens: Sequence[int]) -> None:
        if self._speaks and tokens:
            self._link.tell(tokens)
