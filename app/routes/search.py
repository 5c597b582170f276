"""/api/search and the finding of a text in one conversation."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.domain.bounds import MAX_QUERY_LENGTH
from app.domain.records import ConversationSource, Role
from app.http.client_presence import while_present
from app.http.query_params import flag, moment, one_of, source_of, whole_number
from app.schemas.response_bodies import search as bodies
from app.services import services_of
from app.storage.search import BEYOND_ALL, FoundMessage, FoundTitle, SearchStore
from app.storage.search_filter import SearchFilter
from app.storage.snippets import Snippet
from engine.api.errors import InvalidRequestError

DEFAULT_FOUND = 20
MAX_FOUND = 100
ROLES: tuple[Role, ...] = ("user", "assistant")


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


async def search(request: Request) -> Response:
    """Find conversations by their titles (on the first page), and messages, the newest first.

    If nothing is found, words at one edit from those of the query are searched for. The client's departure ends it.
    """
    query = _query(request)
    limit = whole_number(request, "limit", DEFAULT_FOUND, low=1, high=MAX_FOUND)
    before = whole_number(request, "cursor", BEYOND_ALL, low=1, high=BEYOND_ALL)
    found = Finding(services_of(request).store.search, source_of(request), _filter(request), limit, before)
    messages, titles, corrected = await while_present(request, found.or_corrected(query))
    more = len(messages) > limit
    return JSONResponse(
        bodies.Found(
            conversations=[_title(found) for found in titles],
            messages=[_message(found) for found in messages[:limit]],
            next_cursor=str(messages[limit - 1].number) if more else None,
            corrected=corrected,
        )
    )


async def find(request: Request) -> Response:
    """Find the messages of a conversation's path that have a text, as it is written. The client's departure ends it."""
    query, store = _query(request), services_of(request).store
    conversation = await store.conversations.get(request.path_params["id"])
    found = await while_present(request, store.finding.on_path(conversation.head_id, query))
    return JSONResponse(
        bodies.FoundInConversation(messages=[{"message_id": each.id, "count": each.count} for each in found])
    )


def _query(request: Request) -> str:
    query = request.query_params.get("q", "")
    if not query.strip():
        raise InvalidRequestError("q is required: the words to look for", param="q")
    if len(query) > MAX_QUERY_LENGTH:
        raise InvalidRequestError(f"q may have at most {MAX_QUERY_LENGTH} characters", param="q")
    return query


def _filter(request: Request) -> SearchFilter:
    return SearchFilter(
        role=one_of(request, "role", ROLES),
        since=moment(request, "since"),
        until=moment(request, "until"),
        folder_id=request.query_params.get("folder_id"),
        tag=request.query_params.get("tag"),
        archived=flag(request, "archived") if "archived" in request.query_params else None,
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


routes = [Route("/api/search", search), Route("/api/conversations/{id}/find", find)]
