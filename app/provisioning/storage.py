"""The storage of the SCIM library, over the store of the server.

Every call blocks: for the thread of one request.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar, cast

from scim2_models import (
    InvalidValueException,
    NotFoundException,
    NotImplementedException,
    PreconditionFailedException,
    Resource,
    ResourceType,
    ResponseParameters,
    ScimProvider,
    SearchRequest,
    UniquenessException,
)
from scim2_server.storage import ScimStorage, SearchPage

from app.accounts.scim_plan import ScimPlan
from app.provisioning.resources import MAX_TEXT, comparable, group_fields, resource_of, user_fields, version_of
from app.storage.provisioning import (
    PAGE,
    GroupColumn,
    ProvisioningStore,
    StoredResource,
    UserColumn,
    VersionError,
)
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError

T = TypeVar("T")

CALL_SECONDS: Final = 60.0
MAX_RESULTS: Final = 200
COLUMNS: Final = {
    "User": {"username": "user_key", "externalid": "external_id", "id": "id"},
    "Group": {"displayname": "name_key", "externalid": "external_id", "id": "id"},
}
"""Columns with an index, by the attributes that providers look for."""

_EQUALITY = re.compile(r'(\w+) eq ("(?:[^"\\]|\\.)*")', re.IGNORECASE)


class ProvisioningStorage(ScimStorage):
    """The stored users and groups as resources of SCIM."""

    def __init__(
        self,
        store: ProvisioningStore,
        plan: ScimPlan,
        provider: ScimProvider,
        changed: Callable[[], Awaitable[None]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Serve `store`, whose methods run on `loop`.

        changed: called on the loop after each change, so that it applies to the next request of a person.
        """
        self._store = store
        self._plan = plan
        self._provider = provider
        self._changed = changed
        self._loop = loop

    def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        """Return a resource. Raise NotFoundException."""
        found = self._read(resource_type, "id", resource_id, members=_shows_members(response_parameters))
        if not found:
            raise NotFoundException(detail=f"There is no {resource_type.name} {resource_id}")
        return found[0]

    def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,  # noqa: ARG002  # of cursors, which the service does not announce
    ) -> SearchPage:
        """Return a page of the resources that match. Raise NotImplementedException for a search of several types."""
        if len(resource_types) != 1:
            raise NotImplementedException(detail="Search /Users or /Groups")
        [kind] = resource_types
        start, members = search_request.start_index_0 or 0, _shows_members(search_request)
        count = MAX_RESULTS if search_request.count is None else search_request.count
        if search_request.filter is None:
            total = self._run(self._store.count("scim_user" if kind.name == "User" else "scim_group"))
            return SearchPage(total, self._read(kind, limit=count, offset=start, members=members) if count else [])
        found = [
            each for each in self._candidates(kind, str(search_request.filter)) if search_request.filter.match(each)
        ]
        return SearchPage(len(found), found[start : start + count])

    def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        """Store a new resource. Raise UniquenessException, InvalidValueException."""
        with _translated():
            if resource_type.name == "User":
                made = self._run(self._store.create_user(user_fields(resource, self._plan)))
            else:
                made = self._run(self._store.create_group(group_fields(resource)))
        return self._after_change(resource_type, made)

    def update(
        self, resource_type: ResourceType, resource: Resource[Any], *, expected_version: str | None = None
    ) -> Resource[Any]:
        """Replace a resource. Raise as `create` does, NotFoundException and PreconditionFailedException."""
        version, resource_id = version_of(expected_version), cast(str, resource.id)
        with _translated():
            if resource_type.name == "User":
                self._run(self._store.update_user(resource_id, user_fields(resource, self._plan), version))
            else:
                self._run(self._store.update_group(resource_id, group_fields(resource), version))
        return self._after_change(resource_type, resource_id)

    def delete(self, resource_type: ResourceType, resource_id: str, *, expected_version: str | None = None) -> None:
        """Remove a resource. Raise NotFoundException, PreconditionFailedException."""
        version = version_of(expected_version)
        with _translated():
            if resource_type.name == "User":
                self._run(self._store.delete_user(resource_id, version))
            else:
                self._run(self._store.delete_group(resource_id, version))
        self._run(self._changed())

    def _after_change(self, resource_type: ResourceType, resource_id: str) -> Resource[Any]:
        self._run(self._changed())
        return self.get(resource_type, resource_id)

    def _candidates(self, kind: ResourceType, text: str) -> Iterator[Resource[Any]]:
        """Yield the resources that a filter may match: few of them if it names one by an attribute with an index."""
        equality = _EQUALITY.fullmatch(text)
        column = COLUMNS[kind.name or ""].get(equality[1].lower()) if equality is not None else None
        if equality is not None and column is not None:
            value: str = json.loads(equality[2])
            # No stored name or id is longer.
            if len(value) > MAX_TEXT:
                return
            yield from self._read(kind, column, comparable(value) if column.endswith("_key") else value)
            return
        offset = 0
        while page := self._read(kind, offset=offset):
            yield from page
            offset += PAGE

    def _read(
        self,
        kind: ResourceType,
        column: str | None = None,
        value: str = "",
        *,
        limit: int = PAGE,
        offset: int = 0,
        members: bool = True,
    ) -> list[Resource[Any]]:
        found: list[StoredResource]
        if kind.name == "User":
            found = self._run(self._store.users(cast(UserColumn, column), value, limit=limit, offset=offset))
        else:
            of_column = cast(GroupColumn, column)
            found = self._run(self._store.groups(of_column, value, limit=limit, offset=offset, members=members))
        model = cast("type[Resource[Any]]", self._provider.model_for(kind))
        return [resource_of(stored, model, kind.name or "") for stored in found]

    def _run(self, call: Awaitable[T]) -> T:
        """Return the result of a call on the loop of the server."""
        return asyncio.run_coroutine_threadsafe(cast("Coroutine[Any, Any, T]", call), self._loop).result(CALL_SECONDS)


def _shows_members(parameters: ResponseParameters[Any] | None) -> bool:
    """Return whether a response may hold the members of groups, of which there may be thousands."""
    left_out = (parameters.excluded_attributes if parameters is not None else None) or []
    return all(str(each).rpartition(":")[2].lower() != "members" for each in left_out)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the errors of the store as those of SCIM."""
    try:
        yield
    except NotFoundError as error:
        raise NotFoundException(detail=error.message) from error
    except VersionError as error:
        raise PreconditionFailedException(detail=error.message) from error
    except ConflictError as error:
        raise UniquenessException(detail=error.message) from error
    except InvalidRequestError as error:
        raise InvalidValueException(detail=error.message) from error
