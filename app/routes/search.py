"""/api/search and the finding of a text in one conversation."""

from dataclasses import dataclass
from typing import Annotated

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.bounds import MAX_QUERY_LENGTH
from app.domain.records import ConversationSource, Role
from app.http.client_presence import while_present
from app.http.operation import Operation
from app.http.query_params import (
    MAX_DIGITS,
    AnyText,
    Moment,
    Param,
    Query,
    Source,
    Switch,
    one_of,
    whole_numbers,
    words,
)
from app.schemas.response_bodies import search as bodies
from app.schemas.response_bodies.search import Found, FoundInConversation
from app.services import services_of
from app.storage.search import BEYOND_ALL, FoundMessage, FoundTitle, SearchStore
from app.storage.search_filter import SearchFilter
from app.storage.snippets import Snippet

DEFAULT_FOUND = 20
MAX_FOUND = 100


CURSOR = Param(
    {"type": "string", "pattern": "^0*[1-9][0-9]*$", "maxLength": MAX_DIGITS}, whole_numbers(1, BEYOND_ALL).parse
)
"""Number of a message in the index, which clients know as a text."""


class Wanted(Query):
    """The text to look for."""

    q: Annotated[str, words(MAX_QUERY_LENGTH)]


class Search(Wanted):
    """The words to search for, and a page of what has them."""

    limit: Annotated[int, whole_numbers(1, MAX_FOUND)] = DEFAULT_FOUND
    cursor: Annotated[int, CURSOR] = BEYOND_ALL
    source: Source = "chat"
    role: Annotated[Role, one_of(("user", "assistant"))] | None = None
    since: Moment | None = None
    until: Moment | None = None
    folder_id: AnyText | None = None
    tag: AnyText | None = None
    archived: Switch | None = None

    def within(self) -> SearchFilter:
        """Return the conditions that all results meet."""
        return SearchFilter(self.role, self.since, self.until, self.folder_id, self.tag, self.archived)


@dataclass(frozen=True, slots=True)
class Finding:
    """A search of one request.

    limit: results of each kind on a page. before: number of the message after which the page begins.
    """

    index: SearchStore
    source: ConversationSource
    within: SearchFilter
    limit: int
    before: int

    async def of(self, words: str) -> tuple[list[FoundMessage], list[FoundTitle]]:
        """Find messages, one beyond the limit if there are more, and on the first page titles."""
        messages = await self.index.messages(
            words, limit=self.limit + 1, before=self.before, source=self.source, within=self.within
        )
        if self.before != BEYOND_ALL:
            return messages, []
        return messages, await self.index.titles(words, limit=self.limit, source=self.source, within=self.within)

    async def or_corrected(self, words: str) -> tuple[list[FoundMessage], list[FoundTitle], str | None]:
        """Find `words` or, if nothing has them, words at one edit from them, which are returned as well."""
        messages, titles = await self.of(words)
        if messages or titles or self.before != BEYOND_ALL:
            return messages, titles, None
        for corrected in await self.index.corrections(words, source=self.source):
            messages, titles = await self.of(corrected)
            if messages or titles:
                return messages, titles, corrected
        return [], [], None


async def search(request: Request, asked: Search) -> Response:
    """Find conversations by their titles (on the first page), and messages, the newest first.

    If nothing is found, words at one edit from those of the query are searched for. The client's departure ends it.
    """
    limit = asked.limit
    found = Finding(services_of(request).store.search, asked.source, asked.within(), limit, asked.cursor)
    messages, titles, corrected = await while_present(request, found.or_corrected(asked.q))
    more = len(messages) > limit
    return JSONResponse(
        bodies.Found(
            conversations=[_title(found) for found in titles],
            messages=[_message(found) for found in messages[:limit]],
            next_cursor=str(messages[limit - 1].number) if more else None,
            corrected=corrected,
        )
    )


async def find(request: Request, asked: Wanted) -> Response:
    """Find the messages of a conversation's path that have a text, as it is written. The client's departure ends it."""
    store = services_of(request).store
    conversation = await store.conversations.get(request.path_params["id"])
    found = await while_present(request, store.finding.on_path(conversation.head_id, asked.q))
    return JSONResponse(
        bodies.FoundInConversation(messages=[{"message_id": each.id, "count": each.count} for each in found])
    )


def _title(found: FoundTitle) -> bodies.FoundTitle:
    return {
        "id": found.id,
        "title": found.title,
        "archived": found.archived,
        "updated_at": found.updated_at,
        "snippet": _snippet(found.snippet),
    }


def _message(found: FoundMessage) -> bodies.FoundMessage:
    return {
        "message_id": found.id,
        "role": found.role,
        "created_at": found.created_at,
        "conversation": {"id": found.conversation_id, "title": found.title, "archived": found.archived},
        "snippet": _snippet(found.snippet),
    }


def _snippet(snippet: Snippet) -> bodies.Snippet:
    return {"text": snippet.text, "matches": list(snippet.matches)}


operations = [
    Operation("GET", "/api/search", search, answer=Found),
    Operation("GET", "/api/conversations/{id}/find", find, answer=FoundInConversation),
]
