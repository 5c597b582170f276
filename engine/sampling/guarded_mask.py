"""A mask whose defects concern the answer that it is for, and nothing else."""

import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from engine.api.errors import FOR_THE_PROCESS
from engine.api.outputs import FormVerdict
from engine.sampling.token_mask import TokenMask

FAILED: Final = "the grammar failed; see the server's log"

T = TypeVar("T")

logger = logging.getLogger(__name__)


class GuardedMask:
    """TokenMask that wraps another one. If the wrapped mask raises, only tokens that end the answer are allowed, and
    the answer ends with an error."""

    def __init__(self, mask: TokenMask, ending_ids: Sequence[int]) -> None:
        """Wrap `mask`. `ending_ids` are the tokens that end the answer."""
        self._mask = mask
        self._ending_ids = ending_ids
        self._has_failed = False

    @property
    def is_asleep(self) -> bool:
        """See TokenMask."""
        return self._ask(lambda: self._mask.is_asleep, otherwise=False)

    def accept(self, token_id: int) -> None:
        """See TokenMask."""
        self._ask(lambda: self._mask.accept(token_id), None)

    def begin(self) -> None:
        """See TokenMask."""
        self._ask(self._mask.begin, None)

    def words(self) -> bytes:
        """See TokenMask."""
        return self._ask(self._mask.words, b"") or self._end_words()

    def forced(self) -> Sequence[int]:
        """See TokenMask."""
        return self._ask(self._mask.forced, ())

    def verdict(self, text: str) -> FormVerdict | None:
        """See TokenMask."""
        return self._ask(lambda: self._mask.verdict(text), None)

    @property
    def is_ready(self) -> bool:
        """Whether `words` returns at once."""
        return self._ask(lambda: self._mask.is_ready, otherwise=True)

    @property
    def failure(self) -> str | None:
        """Reason why the answer cannot be completed; None while it can."""
        failure = self._ask(lambda: self._mask.failure, None)
        return FAILED if self._has_failed else failure

    def _ask(self, call: Callable[[], T], otherwise: T) -> T:
        if self._has_failed:
            return otherwise
        try:
            return call()
        except FOR_THE_PROCESS:
            raise
        except BaseException:
            logger.exception("a token mask failed; the answer ends with an error")
            self._has_failed = True
            return otherwise

    def _end_words(self) -> bytes:
        bits = sum(1 << id_ for id_ in set(self._ending_ids))
        return bits.to_bytes(max(self._ending_ids, default=0) // 32 * 4 + 4, "little")
