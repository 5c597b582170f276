"""Messages of another application as a tree of questions and answers, which follow each other in Ebb.

Other applications also store messages of tools, hidden ones, and answers in several pieces. Messages without a role
are left out, and pieces by the same speaker become one message. Branches stay branches.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, Literal

from app.conversations.formats.checked import Checked, LeftOut, wrong
from app.conversations.formats.message_parts import ATTACHMENT
from app.domain.bounds import MAX_RATING_NOTE, MAX_TAG_LENGTH, MAX_TAGS, MAX_TITLE_LENGTH
from app.domain.records import Conversation, Message, MessageStatus, Rating, new_id, new_ids
from app.domain.tags import tag_name
from app.storage.imports import Imported

Speaker = Literal["user", "assistant"]

NO_QUESTION: Final = "…"
"""Text of the question before an answer that had none: a greeting, or the answer of a scheduled task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A message of the file.

    speaker: None for a message that is left out. The messages below it follow the one above it.
    """

    parent: str | None
    speaker: Speaker | None = None
    text: str = ""
    reasoning: str = ""
    created_at: float | None = None
    status: MessageStatus = "complete"
    finish_reason: str | None = None
    rating: Rating | None = None
    rating_note: str = ""


@dataclass(slots=True, kw_only=True)
class ForeignChat:
    """A conversation of the file.

    source: its id in the file, after the name of the format.
    nodes: messages by id, in any order.
    above: the message before another one, where that one does not say so, or names a message that the file lacks.
    head: the message at the end of the path that the application shows; None if it is not known.
    """

    source: str
    title: str
    created_at: float
    updated_at: float
    system_prompt: str = ""
    pinned: bool = False
    archived: bool = False
    tags: list[str] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    above: dict[str, str] = field(default_factory=dict)
    head: str | None = None
    left_out: Counter[LeftOut] = field(default_factory=Counter)

    @property
    def num_attachments(self) -> int:
        """Number of attached files, pictures and recordings that are left out so far."""
        return self.left_out["media"] + self.left_out["files"]

    @property
    def times(self) -> list[float]:
        """Times of the messages that have one."""
        return [node.created_at for node in self.nodes.values() if node.created_at is not None]

    def text_or_mark(self, text: str, reasoning: str, num_before: int) -> str:
        """Return the text of a message, or the mark of attachments if it had nothing else.

        num_before: number of attachments that were left out before the message.
        """
        return ATTACHMENT if not text and not reasoning and self.num_attachments > num_before else text

    def note_followers(self, name: str, message: Checked, field: str) -> None:
        """Note that the message `name` is above those whose ids are in a field of it, if they do not say what is."""
        for below in message.elements(field):
            if isinstance(below, str):
                self.above.setdefault(below, name)

    def add(self, name: str, node: Node) -> str:
        """Add a message, and return its id. One that is here already is counted. Another one with its id is renamed."""
        if self.nodes.get(name) == node:
            self.left_out["other"] += 1
            return name
        while name in self.nodes:
            name = f"{name}#{len(self.nodes)}"
        self.nodes[name] = node
        return name

    def add_after(self, previous: str | None, name: str, node: Node) -> str:
        """Add a message of a list, and return its id. The previous one is above a message that names none of the file.

        The first message of a list may name one that no file has. Others that name it begin a branch, too.
        """
        count = len(self.nodes)
        added = self.add(name, node)
        root = next(iter(self.nodes.values())).parent
        if previous is not None and len(self.nodes) > count and (node.parent is None or node.parent != root):
            self.above.setdefault(added, previous)
        return added


@dataclass(slots=True, eq=False)
class _Turn:
    """A message in Ebb: the piece `last`, after the pieces of `before` by the same speaker.

    follower: the turn that continues this one with another piece.
    below: the messages that follow.
    """

    last: Node
    above: "_Turn | None"
    before: "_Turn | None"
    num_characters: int
    follower: "_Turn | None" = None
    below: list["_Turn"] = field(default_factory=list)

    @property
    def is_dropped(self) -> bool:
        """Whether the turn is only a part of the one that continues it."""
        return self.follower is not None and not self.below

    def pieces(self) -> list[Node]:
        """Return the pieces from the first to the last."""
        found, turn = [self.last], self.before
        while turn is not None:
            found.append(turn.last)
            turn = turn.before
        return found[::-1]


def imported_from(chat: ForeignChat, place: str, room: int, on_message: Callable[[], None] = lambda: None) -> Imported:
    """Convert a conversation to one that can be stored, with new ids. Counts in `left_out` what has no place in it.

    room: maximum number of characters of all its messages. Branches repeat the pieces before them.
    on_message: called for each message, in each pass over them. An error that it raises ends the conversion.
    Raise InvalidRequestError: the messages have more characters than there is room for.
    """
    turns = _turns(chat, on_message)
    kept = [turn for turn in turns.values() if turn is not None and not turn.is_dropped]
    kept = list(dict.fromkeys(kept))
    if sum(turn.num_characters for turn in kept) > room:
        problem = f"The branches of the chat have more than {room} characters together. Delete some of them first."
        raise wrong(place, problem, code="body_too_complex")
    title = " ".join(chat.title.split())[:MAX_TITLE_LENGTH]
    conversation_id = new_id("conv")
    ids = dict(zip(kept, new_ids("msg", len(kept)), strict=True))
    messages = list[Message]()
    for turn in kept:
        on_message()
        messages.append(_message(turn, ids, conversation_id, chat.created_at))
    head = _head(chat, turns, kept)
    conversation = Conversation(
        id=conversation_id,
        title=title or None,
        title_source="user" if title else None,
        head_id=ids[head] if head is not None else None,
        system_prompt=chat.system_prompt or None,
        params={},
        pinned=chat.pinned,
        archived=chat.archived,
        tags=_tags(chat.tags),
        created_at=chat.created_at,
        updated_at=chat.updated_at,
    )
    return Imported(chat.source, conversation, messages)


def _tags(given: list[str]) -> tuple[str, ...]:
    names = (tag_name(tag)[:MAX_TAG_LENGTH] for tag in given)
    return tuple(dict.fromkeys(name for name in names if name))[:MAX_TAGS]


def _turns(chat: ForeignChat, on_message: Callable[[], None]) -> dict[str | None, _Turn | None]:
    """Return each message's turn, or the turn above a message that is left out; None at the root.

    Under None is the question before the answers that have none: in Ebb a conversation begins with a question.
    """
    turns: dict[str | None, _Turn | None] = {}
    for name, parent in _in_order(chat, on_message):
        on_message()
        node, above = chat.nodes[name], turns[parent] if parent is not None else None
        if node.speaker == "assistant" and above is None:
            if None not in turns:
                turns[None] = _turn(
                    Node(parent=None, speaker="user", text=NO_QUESTION, created_at=node.created_at), None
                )
            above = turns[None]
        turns[name] = above if node.speaker is None else _turn(node, above)
    return turns


def _turn(node: Node, above: _Turn | None) -> _Turn:
    size = len(node.text) + len(node.reasoning)
    if above is not None and above.last.speaker == node.speaker:
        turn = _Turn(node, above.above, above, above.num_characters + size + 4)
        above.follower = turn
    else:
        turn = _Turn(node, above, None, size)
    if turn.above is not None:
        turn.above.below.append(turn)
    return turn


def _in_order(chat: ForeignChat, on_message: Callable[[], None]) -> Iterator[tuple[str, str | None]]:
    """Yield the id of each message after the one above it, and the id of that one; None where a branch begins.

    Messages that follow each other in a circle are a branch, too: one of them loses the message above it.
    """
    parents, below = dict[str, str | None](), defaultdict[str | None, list[str]](list)
    for name in chat.nodes:
        on_message()
        parents[name] = _parent(chat, name)
        below[parents[name]].append(name)
    seen = set[str]()
    for begin in chain(below[None], chat.nodes):
        if begin in seen:
            continue
        first = _first(begin, parents)
        if parents[first] is not None:
            parents[first] = None
            chat.left_out["other"] += 1
        todo = [first]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            yield name, parents[name]
            todo += below[name][::-1]


def _parent(chat: ForeignChat, name: str) -> str | None:
    """Return the message above another one: of the file, or else the one above a message that the file lacks."""
    given = chat.nodes[name].parent
    for found in (given, given and chat.above.get(given), chat.above.get(name)):
        if found is not None and found in chat.nodes:
            return found
    return None


def _first(begin: str, parents: Mapping[str, str | None]) -> str:
    """Return the first message of a branch, or a message of the circle that the branch begins with."""
    passed, name = set[str](), begin
    while name not in passed:
        passed.add(name)
        if (parent := parents[name]) is None:
            break
        name = parent
    return name


def _message(turn: _Turn, ids: dict[_Turn, str], conversation_id: str, created_at: float) -> Message:
    pieces = turn.pieces()
    first, last = pieces[0].created_at or created_at, pieces[-1].created_at or created_at
    speaker = turn.last.speaker
    assert speaker is not None
    return Message(
        id=ids[turn],
        conversation_id=conversation_id,
        parent_id=ids[turn.above] if turn.above is not None else None,
        role=speaker,
        content="\n\n".join(piece.text for piece in pieces if piece.text),
        reasoning="\n\n".join(piece.reasoning for piece in pieces if piece.reasoning) or None,
        status=turn.last.status,
        finish_reason=turn.last.finish_reason,
        created_at=first,
        completed_at=max(first, last),
        rating=turn.last.rating,
        rating_note=turn.last.rating_note[:MAX_RATING_NOTE] or None,
    )


def _head(chat: ForeignChat, turns: Mapping[str | None, _Turn | None], kept: list[_Turn]) -> _Turn | None:
    """Return the leaf of the path that the application shows, or else the newest leaf."""
    turn = turns.get(chat.head) if chat.head is not None else None
    if turn is None:
        leaves = [each for each in kept if not each.below]
        return max(leaves, key=lambda leaf: leaf.last.created_at or 0.0, default=None)
    while turn.is_dropped or turn.below:
        following = turn.follower if turn.is_dropped else turn.below[-1]
        assert following is not None
        turn = following
    return turn
