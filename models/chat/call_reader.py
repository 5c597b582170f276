"""Incremental reader of the JSON between two marks: {"name": ..., "arguments": {...}}, or a list of such objects.

A call begins with the bracket that opens its arguments, once its name is known. Until then the text may turn out not to
be a call. From then on it is one, whatever follows, because its arguments may have been sent.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from models.chat.json_scanner import JsonScanner, JsonToken
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart

_SPACE = " \t\r\n"
_BETWEEN = ("space", "colon", "comma")


class _NotACallError(Exception):
    """The JSON is not a call, or cannot continue the call that has begun.

    unread: text that was read so far, from the fault on.
    """

    def __init__(self, unread: str) -> None:
        super().__init__(unread)
        self.unread = unread


class JsonCallReader:
    """Reader of the text between two marks.

    has_called: whether a call has begun.
    is_broken: the text is not a call, or the call that began is cut off by text that is not JSON.
    unread: text that follows the JSON, or the part that is broken.
    not_called: text that was read since the last call and is not part of a call. Set if the text is broken.
    """

    def __init__(
        self, arguments: Sequence[str] = ("arguments",), *, name: str | None = "name", is_bare: bool = False
    ) -> None:
        """Create the reader.

        arguments: names of the field with the arguments.
        name: name of the field with the name; None if an object has one field, from the name to the arguments.
        is_bare: no mark precedes the JSON, so only an object that begins with a call's fields is a call.
        """
        self.has_called = False
        self.is_broken = False
        self.unread = ""
        self.not_called = ""
        self._keys = _Keys(tuple(arguments), name, is_bare)
        self._json = JsonScanner()
        self._level = 0
        self._call: _Call | None = None
        self._since_call = list[str]()

    @property
    def is_over(self) -> bool:
        """Whether the text that follows does not belong to the calls."""
        return self.is_broken or self._json.is_done

    def push(self, text: str) -> list[AnswerEvent]:
        """Add text and return the events that it completes. Must not be called once the reader `is_over`."""
        events = list[AnswerEvent]()
        for token in self._json.tokens(text):
            try:
                events += self._taken(token)
            except _NotACallError as error:
                events += [] if self._call is None else self._news(self._call)
                has_begun = self._call is not None and self._call.has_begun
                return events + self._broken((error.unread if has_begun else token.text) + self._json.unread)
        if self._json.is_broken:
            return events + self._broken(self._json.unread)
        self.unread = self._json.unread
        return events

    def finish(self) -> list[AnswerEvent]:
        """Return the events of a call that the end of the answer cuts. A call whose name is known begins here."""
        return [] if self._call is None else self._call.cut()

    def _taken(self, token: JsonToken) -> list[AnswerEvent]:
        call = self._call
        if call is None:
            self._take_outside(token)
            self._since_call.append(token.text)
            return []
        call.take(token)
        events = self._news(call)
        if not call.has_begun:
            self._since_call.append(token.text)
        if call.is_over:
            self._call = None
        return events

    def _take_outside(self, token: JsonToken) -> None:
        """Take a token that is not part of a call."""
        match token.kind:
            case "open" if token.text == "{" and token.level == self._level:
                self._call = _Call(token.level + 1, self._keys)
            case "open" if token.level == 0:
                self._level = 1
            case "open" | "begin string" | "scalar":
                raise _NotACallError(token.text)

    def _news(self, call: "_Call") -> list[AnswerEvent]:
        events = call.news()
        if events:
            self.has_called = True
            self._since_call.clear()
        return events

    def _broken(self, unread: str) -> list[AnswerEvent]:
        self.is_broken, self.unread = True, unread
        text = "".join(self._since_call)
        self.not_called = text.lstrip(_SPACE + ",") if self.has_called else text
        return [] if self._call is None else self._call.broken()


class _Keys(NamedTuple):
    """Fields of a call. As in `JsonCallReader`."""

    arguments: tuple[str, ...]
    name: str | None
    is_bare: bool

    def may_begin(self, key: str) -> bool:
        """Return whether a call may begin with the field `key`."""
        return not self.is_bare or key in (self.name, "type", *self.arguments)


class _Call:
    """Reader of one call. level: that of its fields.

    has_begun: the call has been announced, so that it is one, whatever follows.
    is_over: the closing bracket has been read.
    """

    def __init__(self, level: int, keys: _Keys) -> None:
        self.has_begun = False
        self.is_over = False
        self._level = level
        self._keys = keys
        self._key = ""
        self._is_first = True
        self._string = list[str]()
        self._name: str | None = None
        self._arguments = _Arguments(level)
        self._has_ended = False

    def take(self, token: JsonToken) -> None:
        """Take the next token. Raise _NotACallError."""
        if token.level < self._level:
            self._close(token)
        elif token.level == self._level and token.is_key:
            self._take_key(token)
        elif token.level == self._level and token.kind in _BETWEEN:
            pass
        elif self._key == self._keys.name:
            self._take_name(token)
        elif self._key in self._keys.arguments:
            self._arguments.take(token)

    def news(self) -> list[AnswerEvent]:
        """Return the events since the last call of this method."""
        events, arguments = list[AnswerEvent](), self._arguments
        if not self.has_begun and self._name is not None and arguments.has_started:
            self.has_begun = True
            events.append(CallStart(self._name))
        if self.has_begun and (text := arguments.news()):
            events.append(ArgumentsPiece(text))
        if self.has_begun and arguments.has_ended and not self._has_ended:
            self._has_ended = True
            events.append(CallEnd(arguments.is_complete))
        return events

    def broken(self) -> list[AnswerEvent]:
        """Return the end of the call if it has begun but cannot be continued."""
        is_open = self.has_begun and not self._has_ended
        self._has_ended |= is_open
        return [CallEnd(is_complete=False)] if is_open else []

    def cut(self) -> list[AnswerEvent]:
        """Return the end of a call within which the answer ends. A call whose name is known begins here."""
        if self.has_begun or self._name is None or self._keys.is_bare:
            return self.broken()
        return [CallStart(self._name), CallEnd(is_complete=False)]

    def _take_key(self, token: JsonToken) -> None:
        if (key := self._string_of(token)) is not None:
            if self._is_first and not self._keys.may_begin(key):
                raise _NotACallError("")
            self._is_first = False
            if self._keys.name is None:
                self._take_name_as_key(key, token)
                return
            # A call that has begun keeps its name, and arguments are read once.
            is_repeated = (
                self.has_begun
                if key == self._keys.name
                else key in self._keys.arguments and self._arguments.has_started
            )
            self._key = "" if is_repeated else key

    def _take_name(self, token: JsonToken) -> None:
        if token.kind in ("open", "scalar"):
            raise _NotACallError(token.text)
        if (name := self._string_of(token)) is not None:
            self._name = name

    def _take_name_as_key(self, key: str, token: JsonToken) -> None:
        if self._name is not None:
            raise _NotACallError(token.text)
        self._name, self._key = key, self._keys.arguments[0]

    def _string_of(self, token: JsonToken) -> str | None:
        """Add a token to the string that is being read, and return the string if this is its end."""
        match token.kind:
            case "begin string":
                self._string.clear()
            case "end string":
                return _decoded("".join(self._string))
            case _:
                self._string.append(token.text)
        return None

    def _close(self, token: JsonToken) -> None:
        if self._name is None or (self._keys.is_bare and not self._arguments.has_started):
            raise _NotACallError(token.text)
        self.is_over = True
        if not self._arguments.has_started:
            self._arguments.take_none()


class _Arguments:
    """Reader of the arguments of one call: a JSON object, or a string that contains one. level: that of the fields.

    has_started: the opening bracket has been read.
    has_ended: all of the arguments have been read.
    is_complete: they end with their closing bracket.
    """

    def __init__(self, level: int) -> None:
        self.has_started = False
        self.has_ended = False
        self.is_complete = False
        self._level = level
        self._inner: JsonScanner | None = None
        self._new = list[str]()

    def news(self) -> str:
        """Return the arguments since the last call of this method."""
        text = "".join(self._new)
        self._new.clear()
        return text

    def take_none(self) -> None:
        """Note that the call has no arguments."""
        self._new.append("{}")
        self.has_started = self.has_ended = self.is_complete = True

    def take(self, token: JsonToken) -> None:
        """Take a token of the arguments. Raise _NotACallError."""
        if self._inner is not None:
            self._take_string(token, self._inner)
        elif token.level > self._level:
            self._new.append(token.text)
        elif token.kind == "begin string":
            self._inner = JsonScanner()
        elif token.text == "{":
            self._new.append(token.text)
            self.has_started = True
        elif token.text == "}":
            self._new.append(token.text)
            self.has_ended = self.is_complete = True
        else:
            raise _NotACallError(token.text)

    def _take_string(self, token: JsonToken, inner: JsonScanner) -> None:
        """Take a part of a string that contains the arguments. Some models write arguments as such a string."""
        if token.kind == "end string":
            if not self.has_started:
                self.take_none()
            self.has_ended = True
            return
        text = _decoded(token.text)
        begun = text.lstrip(_SPACE)
        if not self.has_started and begun[:1] not in ("", "{"):
            raise _NotACallError(token.text)
        for each in inner.tokens(text):
            if self.has_started or each.kind != "space":
                self._new.append(each.text)
                self.has_started = True
        if inner.is_done:
            self.has_ended = self.is_complete = True
        if inner.is_broken or (inner.is_done and inner.unread.strip(_SPACE)):
            raise _NotACallError(inner.unread)


def _decoded(text: str) -> str:
    """Decode the inside of a JSON string."""
    decoded: str = json.loads(f'"{text}"')
    return decoded
