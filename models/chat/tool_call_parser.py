"""Incremental parser of answers that may call tools.

A call follows a mark, and a reader of its syntax reads it (`models.chat.call_syntax`). Anything else after the mark is
text, so a user loses no words to a model that writes invalid calls or mentions a mark. Text that a call has sent is
never taken back: if a call turns out to be invalid, it ends there, and the rest is text without the mark that ends it.
A parser can also keep a call back until the call is complete. Then an incomplete one is text as a whole.
The parser removes the breaks of `models.chat.quoted_marks` from all events that it returns.
"""

import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol

from models.chat.quoted_marks import BREAK, without_breaks
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart, Parsed, TextPiece, merged, parsed_of

_LEFT_OVER: Final = "}]"
"""Brackets that models write too often at the end of a call."""

_BRACKETS: Final = ("{", "[")
"""Beginnings of calls in JSON."""

_PART: Final = 1024
"""Characters of a text that are read at once. The rest of them is copied for each mark, so the time stays linear."""

_CLOSING: Final = re.compile(r"[})>\]\"]")
"""Characters with which calls end. Calls that are kept back are read up to each of them, so that none ends within the
text that is read at once."""


class CallReader(Protocol):
    """Reader of the text after a mark: one call, or several without marks between them.

    has_called: whether a call has begun.
    is_broken: the text is not a call, or the call that began is cut off by text that cannot continue it.
    unread: text that follows the calls, or the part that is broken.
    not_called: text that was read since the last call and is not part of a call. Set if the text is broken.
    """

    has_called: bool
    is_broken: bool
    unread: str
    not_called: str

    @property
    def is_over(self) -> bool:
        """Whether the text that follows does not belong to the calls."""

    def push(self, text: str) -> list[AnswerEvent]:
        """Add text and return the events that it completes. Must not be called once the reader `is_over`."""

    def finish(self) -> list[AnswerEvent]:
        """Return the events of a call that the end of the answer cuts. A call whose name is known begins here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMarks:
    """Texts around calls.

    starts: texts that begin a call.
    ends: texts that may follow a call, in order.
    frames: texts around several calls, which are shown where other text follows before a call.
    bare: texts that begin a call at the beginning of an answer, and after a call; empty if only marks begin one.
    further: texts that begin a call after a call only.
    separator: text between a call and a bare one.
    second: those of `starts` that follow another one, which models sometimes leave out.
    """

    starts: tuple[str, ...]
    ends: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    separator: str = ""
    second: tuple[str, ...] = ()


class ToolCallParser:
    """Parser of one answer. The events, with adjacent pieces joined, do not depend on how the text was split.

    Text is emitted as soon as it cannot be the start of a call, and arguments as soon as they are known to be valid.
    White space between calls and after the last one is dropped.

    has_incomplete: a call was returned as text because it was not complete.
    """

    def __init__(
        self,
        marks: CallMarks,
        read: Callable[[str], CallReader],
        *,
        parallel: bool = True,
        only_complete: bool = False,
    ) -> None:
        """Create a parser of calls.

        read: creates a reader of the text after a mark.
        parallel: return all calls; False returns only the first.
        only_complete: return a call once it is complete, and an incomplete one as the text that the model wrote.
        """
        self.has_incomplete = False
        self._only_complete = only_complete
        self._kept_back = list[AnswerEvent]()
        self._written = list[str]()
        self._marks = marks
        self._read_after = read
        self._initials = frozenset((BREAK, *(mark[0] for mark in (*marks.starts, *marks.frames) if mark)))
        self._parallel = parallel
        self._num_calls = 0
        self._reader: CallReader | None = None
        self._start = ""
        self._due: tuple[str, ...] = ()
        self._after_call = False
        self._bare = marks.bare
        self._since_start = list[str]()
        self._held = ""
        self._space = list[str]()
        self._last_text = ""

    def push(self, text: str) -> list[AnswerEvent]:
        """Add a piece of the answer, with control tokens by name, and return the events that it completes."""
        if self._is_free(text):
            self._note(text)
            return [TextPiece(text)]
        parts = (text[at : at + _PART] for at in range(0, len(text), _PART))
        return self._counted(event for part in parts for event in self._read(part))

    def finish(self, cut_before: str | None = None) -> list[AnswerEvent]:
        """Return the events that were held back, at the end of the answer.

        The beginning of a call whose name is not known yet is dropped. In a complete answer without calls, however, a
        mark without a bracket after it is text. The beginning of a mark is dropped if the answer was cut there.

        cut_before: the text before which the answer was cut, or "" if that text is unknown; None if it was not cut.
        """
        reader, self._reader = self._reader, None
        held, self._held = self._held, ""
        if reader is not None:
            may_be_text = cut_before is None and not reader.has_called
            events = [] if may_be_text and not self._start else self._passed(reader.finish())
            is_text = may_be_text and not events and self._is_mention()
            return self._counted(self._shown(self._start + "".join(self._since_start)) if is_text else events)
        if self._is_markup(held, cut_before):
            return []
        events = self._shown(held)
        rest = "".join(self._space)
        is_text = cut_before is None and self._num_calls == 0 and rest.strip() != ""
        return [*events, TextPiece(rest)] if is_text else events

    def whole(self, text: str, cut_before: str | None = None, *, only_complete: bool = False) -> Parsed:
        """Parse a complete answer. cut_before: as in `finish`; only_complete: as in the constructor."""
        self._only_complete |= only_complete
        return parsed_of([*self.push(text), *self.finish(cut_before)])

    def _is_free(self, text: str) -> bool:
        """Return whether a text is shown as it is, as most pieces of a stream are. False if that is not certain."""
        is_between = self._reader is not None or self._after_call or self._bare or self._due or self._held
        return not is_between and text != "" and self._initials.isdisjoint(text)

    def _read(self, text: str) -> Iterator[AnswerEvent]:
        """Add text and yield the events that it completes."""
        self._held += text
        is_complete = True
        while is_complete:
            if self._reader is None:
                events, is_complete = self._read_text()
            else:
                events, is_complete = self._read_call(self._reader)
            yield from events

    def _read_text(self) -> tuple[list[AnswerEvent], bool]:
        """Read text up to the next mark. Return its events, and whether there was a mark."""
        if self._bare and (bare := self._read_bare()) is not None:
            return bare
        marks = (*self._marks.starts, *self._due, *self._marks.frames)
        hits = [(at, -len(mark), mark) for mark in marks if (at := self._held.find(mark)) >= 0]
        if not hits:
            cut = len(self._held) - max(_possible_start(self._held, mark) for mark in marks)
            shown, self._held = self._held[:cut], self._held[cut:]
            self._note(shown)
            return self._shown(shown), False
        at, _, mark = min(hits)
        shown, self._held = self._held[:at], self._held[at + len(mark) :]
        self._note(shown)
        if mark in self._marks.second and self._last_text.startswith(BREAK):
            # The mark before this one was spelled, so both are quoted.
            self._note(mark)
            return self._shown(shown + mark), True
        events = self._shown(shown)
        if mark in self._marks.starts:
            self._begin_call(mark)
        elif mark in self._due:
            self._due = self._due[self._due.index(mark) + 1 :]
            self._space.clear()
        else:
            # Text, unless a call follows at once.
            self._after_call = True
            self._space.append(mark)
        return events, True

    def _note(self, text: str) -> None:
        """Remember the last two characters of the text before a mark, apart from white space."""
        self._last_text = (self._last_text + text).rstrip()[-2:]

    def _read_bare(self) -> tuple[list[AnswerEvent], bool] | None:
        """Begin a call without a mark. Return None if the text is another one."""
        rest = self._held.lstrip()
        if self._after_call and self._marks.separator:
            rest = rest.removeprefix(self._marks.separator).lstrip()
        if not rest:
            return [], False
        begins, self._bare = rest.startswith(self._bare), ()
        if not begins:
            return None
        before, self._held = self._held.removesuffix(rest), rest
        self._begin_call("")
        self._since_start.append(before)
        return [], True

    def _begin_call(self, mark: str) -> None:
        self._due, self._start, self._last_text = (), mark, ""
        self._since_start.clear()
        self._kept_back, self._written = [], [mark]
        self._bare = ()
        self._reader = self._read_after(mark)

    def _read_call(self, reader: CallReader) -> tuple[list[AnswerEvent], bool]:
        """Read the text between two marks. Return its events, and whether it is over."""
        held, self._held = self._next_part()
        if not reader.has_called:
            self._since_start.append(held)
        events = reader.push(held)
        if self._only_complete:
            self._written.append(held)
            if reader.is_over:
                # The reader may return text of earlier parts too.
                written = "".join(self._written)
                self._written = [written[: max(len(written) - len(reader.unread), 0)]]
        is_cut_off = bool(events) and events[-1] == CallEnd(is_complete=False)
        events = self._passed(events)
        if not reader.is_over:
            return events, bool(self._held)
        self._reader, self._held = None, reader.unread + self._held
        if self._only_complete and is_cut_off:
            return events, True
        if reader.is_broken and not reader.has_called:
            before = self._start or self._since_start[0]
            return self._shown(before + reader.not_called), True
        self._after_call, self._due = True, self._marks.ends
        self._bare = () if reader.is_broken else self._marks.bare + self._marks.further
        self._space.clear()
        return [*events, *self._shown(reader.not_called)], True

    def _next_part(self) -> tuple[str, str]:
        """Split the text that is held into the part to read next and the rest."""
        closing = _CLOSING.search(self._held) if self._only_complete else None
        return (self._held, "") if closing is None else (self._held[: closing.end()], self._held[closing.end() :])

    def _passed(self, events: list[AnswerEvent]) -> list[AnswerEvent]:
        """Return the events of a reader. If only complete calls are returned, keep a call back until it ends."""
        if not self._only_complete:
            return events
        passed = list[AnswerEvent]()
        for event in events:
            self._kept_back.append(event)
            if not isinstance(event, CallEnd):
                continue
            if event.is_complete:
                passed += self._kept_back
            else:
                self.has_incomplete = True
                passed += self._shown("".join(self._written))
            self._kept_back, self._written = [], []
        return passed

    def _shown(self, text: str) -> list[AnswerEvent]:
        """Return the part of a text outside of calls that can be emitted.

        White space after a call is held back until other text follows it, and so is a mark around several calls.
        """
        if self._after_call:
            if not text.strip(string.whitespace + (_LEFT_OVER if self._due else "")):
                self._space.append(text)
                return []
            text = "".join(self._space) + text
            self._space.clear()
            self._after_call = False
        return [TextPiece(text)] if text else []

    def _is_mention(self) -> bool:
        """Return whether the text since the mark does not begin a call. Without a mark, a complete answer is text."""
        if not self._start:
            return True
        return self._num_calls == 0 and not "".join(self._since_start).lstrip().startswith(_BRACKETS)

    def _is_markup(self, held: str, cut_before: str | None) -> bool:
        """Return whether `held`, which may be the beginning of a mark, is one and not text."""
        if any(mark.startswith(held) for mark in self._due):
            return True
        if self._bare and not held.strip(string.whitespace + self._marks.separator):
            return self._after_call
        if cut_before is None:
            return False
        following, marks = held + cut_before, (*self._marks.starts, *self._marks.frames)
        return any(mark.startswith(following) or following.startswith(mark) for mark in marks)

    def _counted(self, events: Iterable[AnswerEvent]) -> list[AnswerEvent]:
        """Drop the calls that do not count and the breaks in spelled marks, and join adjacent pieces."""
        kept = list[AnswerEvent]()
        for event in events:
            self._num_calls += isinstance(event, CallStart)
            if self._parallel or self._num_calls == 1 or isinstance(event, TextPiece):
                kept.append(_as_written(event))
        return merged(kept)


def _as_written(event: AnswerEvent) -> AnswerEvent:
    match event:
        case TextPiece(text) | ArgumentsPiece(text) if BREAK in text:
            return replace(event, text=without_breaks(text))
        case CallStart(name) if BREAK in name:
            return CallStart(without_breaks(name))
    return event


def _possible_start(text: str, mark: str) -> int:
    """Return the length of the longest suffix of the text that is a prefix of the mark."""
    longest = min(len(mark) - 1, len(text))
    return next((length for length in range(longest, 0, -1) if mark.startswith(text[-length:])), 0)
