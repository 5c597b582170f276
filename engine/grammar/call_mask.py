"""Form of the calls in an answer that may also be text: free up to the beginning of a call, and again after its end."""

from collections.abc import Callable, Sequence

from engine.api.outputs import FormVerdict
from engine.grammar.call_finder import CallFinder
from engine.grammar.grammar_mask import GrammarMask


class CallMask:
    """TokenMask that is asleep outside of calls.

    A call that the form refuses stays as the model writes it: no answer ends with an error because of a call. After the
    end of a call, text or another call may follow. The state depends on the tokens of the answer alone.
    """

    failure: str | None = None

    def __init__(self, finder: CallFinder, begin_call: Callable[[], GrammarMask]) -> None:
        """Wait for calls.

        finder: finds their beginnings.
        begin_call: creates the mask of one call, or of several that a frame joins.
        """
        self._finder = finder
        self._begin_call = begin_call
        self._call: GrammarMask | None = None
        self._in_call = list[int]()

    @property
    def is_asleep(self) -> bool:
        """See TokenMask."""
        self._end_call()
        return self._call is None

    def accept(self, token_id: int) -> None:
        """See TokenMask."""
        self._end_call()
        self._take(token_id)

    def begin(self) -> None:
        """See TokenMask."""
        if self._call is not None:
            self._call.begin()

    def words(self) -> bytes:
        """See TokenMask."""
        assert self._call is not None, "the mask is asleep"
        return self._call.words()

    def forced(self) -> Sequence[int]:
        """See TokenMask."""
        return () if self.is_asleep or self._call is None else self._call.forced()

    def verdict(self, text: str) -> FormVerdict | None:
        """See TokenMask. Calls are parsed, and clients check them."""
        del text
        return None

    @property
    def is_ready(self) -> bool:
        """See TokenMask. A mask that has received many tokens at once may have to pass several calls."""
        while not self.is_asleep and self._call is not None:
            if not self._call.is_ready:
                return False
            if (position := self._call.known) is not None and position.unread is None:
                return True
        return True

    def _take(self, token_id: int) -> None:
        if self._call is not None:
            self._in_call.append(token_id)
            self._call.accept(token_id)
        elif (begun := self._finder.push(token_id)) is not None:
            self._call = self._begin_call()
            for begun_id in begun:
                self._call.accept(begun_id)

    def _end_call(self) -> None:
        """Fall asleep if the call is known to be over, and take the tokens behind its end."""
        while self._call is not None and (position := self._call.known) is not None and position.unread is not None:
            end = max(len(self._in_call) - position.unread, 0)
            within, behind = self._in_call[:end], self._in_call[end:]
            self._call, self._in_call = None, []
            for token_id in within:
                self._finder.skip(token_id)
            for token_id in behind:
                self._take(token_id)
