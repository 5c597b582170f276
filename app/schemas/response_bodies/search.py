"""Response bodies of the search."""

from typing_extensions import TypedDict

from app.domain.records import Role


class Snippet(TypedDict):
    """Text around a search hit.

    matches: ranges of the hits within the text, in UTF-16 code units.
    """

    text: str
    matches: list[tuple[int, int]]


class FoundTitle(TypedDict):
    """A conversation whose title contains all words of the query."""

    id: str
    title: str
    archived: bool
    updated_at: float
    snippet: Snippet


class FoundIn(TypedDict):
    """The conversation of a message that was found."""

    id: str
    title: str | None
    archived: bool


class FoundMessage(TypedDict):
    """A message that contains all words of the query."""

    message_id: str
    role: Role
    created_at: float
    conversation: FoundIn
    snippet: Snippet


class Found(TypedDict):
    """Search results, newest first.

    next_cursor: cursor of the next page of messages; null on the last page.
    corrected: words that were searched for instead, since nothing contains those of the query; null otherwise. The
        next page is that of these words.
    """

    conversations: list[FoundTitle]
    messages: list[FoundMessage]
    next_cursor: str | None
    corrected: str | None


class FoundOnPath(TypedDict):
    """A message that has the text that was looked for.

    count: times that its text and its reasoning have it.
    """

    message_id: str
    count: int


class FoundInConversation(TypedDict):
    """Messages of a conversation's path that have a text, the oldest first."""

    messages: list[FoundOnPath]
