"""Operations: routes of the API, each declared once with all that others know of it.

A route reads its body and its query as the operation declares them. The OpenAPI document, the access levels of paths
and the choice of bodies to log follow from the operations.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_type_hints

from starlette.responses import Response

from app.domain.bounds import MAX_BODY_BYTES
from app.domain.rights import Right
from app.http.media_types import EVENTS, JSON
from app.http.query_params import Query
from app.schemas.parsing import RequestModel
from app.schemas.secret import has_secret
from app.tenants.principal import Scope

Access = Literal["open"] | Scope
"""Access level: "open" requires nothing, "user" a key or a login, and "admin" a key of this scope."""

Endpoint = Callable[..., Awaitable[Response]]

NO_CONTENT: Final = 204


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body of another media type than JSON, which its endpoint reads.

    has_secret: whether it is never logged.
    """

    media_type: str
    has_secret: bool = False


@dataclass(slots=True, kw_only=True)
class Operation:
    """One operation of the API.

    method: its HTTP method, or several with spaces between them.
    path: in the notation of starlette.
    endpoint: takes the request. A further parameter is a RequestModel, which is the body, or a Query.
    body, query: types of the request body and of the query parameters. They follow from the endpoint, unless it reads
        them itself.
    headers: optional headers that it reads.
    media: media types of the response. They follow from `events` and from a status without content.
    answer: TypedDict of a JSON response; None leaves it undescribed.
    events: TypedDict of the data of each kind of event in a stream.
    status: of a response without a fault.
    access: level that its path requires. All operations of one path have the same.
    right: the right that the caller needs; None without one.
    counts: whether an open request counts against the tenant's limit. Requests of administrators never do.
    needs_model: whether it is refused while no model is loaded, before its body is read.
    loads_model: whether one that needs a model has one of several loaded.
    max_bytes: limit on the body.
    takes: parameters of the endpoint by name, in the order in which they are read.
    """

    method: str = field(kw_only=False)
    path: str = field(kw_only=False)
    endpoint: Endpoint = field(kw_only=False)
    body: type[RequestModel] | RawBody | None = None
    query: type[Query] = Query
    headers: Sequence[str] = ()
    media: Sequence[str] = (JSON,)
    answer: type[Any] | None = None
    events: Mapping[str, type[Any]] = field(default_factory=dict)
    status: int = 200
    access: Access = "user"
    right: Right | None = None
    counts: bool = True
    needs_model: bool = False
    loads_model: bool = True
    max_bytes: int = MAX_BODY_BYTES
    takes: Mapping[str, type[RequestModel | Query]] = field(init=False)

    def __post_init__(self) -> None:
        """Find what the endpoint takes. Raise TypeError for a parameter of another type."""
        _request, *names = inspect.signature(self.endpoint).parameters
        hints = get_type_hints(self.endpoint)
        self.takes = {name: hints[name] for name in names}
        for kind in self.takes.values():
            if issubclass(kind, Query):
                self.query = kind
            elif issubclass(kind, RequestModel):
                self.body = kind
            else:
                raise TypeError(f"{self.endpoint.__name__} takes a {kind.__name__}")
        if self.status == NO_CONTENT:
            self.media = ()
        elif self.events:
            self.media = (EVENTS,) if self.answer is None else (JSON, EVENTS)

    @property
    def model(self) -> type[RequestModel] | None:
        """Type of a JSON body; None without one."""
        return None if isinstance(self.body, RawBody) else self.body

    @property
    def methods(self) -> list[str]:
        """HTTP methods."""
        return self.method.split()

    @property
    def logs_body(self) -> bool:
        """Whether a setting may have the body logged: its type is declared, and has no secret."""
        if self.body is None or isinstance(self.body, RawBody):
            return self.body is not None and not self.body.has_secret
        return not has_secret(self.body)
