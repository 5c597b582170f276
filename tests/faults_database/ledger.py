"""The promises of servers to the clients of a scene, and the comparison with the content of the database."""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final, Protocol

CHATS: Final = "SELECT id, title, deleted_at IS NOT NULL FROM conversation"
MESSAGES: Final = "SELECT id, conversation_id, parent_id, role, status, content, run_id FROM message"


class Rows(Protocol):
    """A database whose content can be read."""

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""


@dataclass(slots=True)
class Turn:
    """A question, and the news of its answer. Each time is that of the server's confirmation; None without one.

    told: the status and the text of the answer whose end was announced.
    status: the status of the answer that a cancel returned.
    """

    message_id: str
    run_id: str | None = None
    began_at: float | None = None
    told: tuple[str, str] | None = None
    ended_at: float | None = None
    status: str | None = None
    cancelled_at: float | None = None


@dataclass(slots=True)
class Chat:
    """A chat of one client.

    may_be_deleted: whether a deletion was asked for.
    """

    title: str
    id: str | None = None
    created_at: float | None = None
    turns: list[Turn] = field(default_factory=list)
    may_be_deleted: bool = False
    deleted_at: float | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which confirmed writes may be lost, since the next database lacks them."""

    begin: float
    end: float

    def has(self, confirmed_at: float | None) -> bool:
        """Return whether a promise does not count."""
        return confirmed_at is None or self.begin <= confirmed_at <= self.end


NO_WINDOW: Final = Window(float("inf"), float("-inf"))


class Ledger:
    """The chats of a scene.

    garbled: sentences about streams that repeated or left out something.
    """

    def __init__(self) -> None:
        self.chats: list[Chat] = []
        self.garbled: list[str] = []

    def open(self, title: str) -> Chat:
        """Note that a client wants a chat."""
        self.chats.append(chat := Chat(title))
        return chat

    def compare(self, database: Rows, window: Window = NO_WINDOW) -> "Comparison":
        """Compare the promises with the content of the database."""
        return Comparison(self, database, window)


class Comparison:
    """Sentences about the promises that a database does not keep.

    lost: confirmed, and not there.
    doubled: there more often than it was asked for.
    unfinished: answers that are in progress.
    """

    def __init__(self, ledger: Ledger, database: Rows, window: Window) -> None:
        self.lost: list[str] = []
        self.doubled = list(ledger.garbled)
        self.unfinished: list[str] = []
        self._window = window
        self._chats = {str(id_): (title, bool(is_deleted)) for id_, title, is_deleted in database.rows(CHATS)}
        self._messages = {str(row[0]): row for row in database.rows(MESSAGES)}
        self._answers = {row[6]: row for row in self._messages.values() if row[6] is not None}
        self._by_chat: dict[str, list[tuple[object, ...]]] = defaultdict(list)
        for row in self._messages.values():
            self._by_chat[str(row[1])].append(row)
        titles = Counter(title for title, _ in self._chats.values())
        for chat in ledger.chats:
            if titles[chat.title] > 1:
                self.doubled.append(f"{titles[chat.title]} chats {chat.title}")
            self._compare(chat)

    def _compare(self, chat: Chat) -> None:
        if chat.id is None:
            return
        if (found := self._chats.get(chat.id)) is None:
            if not self._window.has(chat.created_at):
                self.lost.append(f"chat {chat.title}")
            return
        is_deleted = found[1]
        if is_deleted and not chat.may_be_deleted:
            self.lost.append(f"chat {chat.title}, which is deleted")
        if not is_deleted and not self._window.has(chat.deleted_at):
            self.lost.append(f"the deletion of chat {chat.title}")
        for number, turn in enumerate(chat.turns):
            self._compare_turn(f"{chat.title}, turn {number}", turn)
        questions = [row for row in self._by_chat[chat.id] if row[3] == "user"]
        if len(questions) > len(chat.turns):
            self.doubled.append(f"{len(questions)} questions in {chat.title} instead of {len(chat.turns)}")
        answered = Counter(row[2] for row in self._by_chat[chat.id] if row[3] == "assistant")
        self.doubled += [
            f"{count} answers to {question} in {chat.title}" for question, count in answered.items() if count > 1
        ]

    def _compare_turn(self, what: str, turn: Turn) -> None:
        answer = self._answers.get(turn.run_id) if turn.run_id is not None else None
        if answer is None:
            if not self._window.has(turn.began_at):
                self.lost.append(f"the answer of {what}")
            return
        status, content = str(answer[4]), str(answer[5])
        if status == "in_progress":
            self.unfinished.append(f"{what}, {turn}")
        if not self._window.has(turn.ended_at) and (status, content) != turn.told:
            self.lost.append(f"the end of {what}: {status} {content[-30:]!r} instead of {turn.told}")
        if not self._window.has(turn.cancelled_at) and status != turn.status:
            self.lost.append(f"the cancel of {what}: {status} instead of {turn.status}")


def now() -> float:
    """Return the time of a confirmation."""
    return time.monotonic()
