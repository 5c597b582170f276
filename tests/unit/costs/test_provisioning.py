"""Requests of provisioning: filters, users, groups and patches, as the library of SCIM reads them."""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import Any, Final

import pytest

from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated
from tests.sizes import LARGE, Size

pytestmark = LARGE

USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH: Final = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


@pytest.fixture(scope="module", autouse=True)
def _models_of_scim() -> None:
    """Import the libraries on a separate thread: pydantic searches all modules for every frame of the stack."""
    importing = Thread(target=import_module, args=("app.provisioning.service",))
    importing.start()
    importing.join()


def read_filter(text: str) -> None:
    from scim2_models import SearchRequest

    from app.provisioning.resources import ScimUser

    search = SearchRequest[ScimUser].model_validate({"filter": text})
    if search.filter is not None:
        search.filter.match(ScimUser.model_validate({"schemas": [USER], "userName": "ada"}))


def read_user(user: dict[str, Any]) -> None:
    from app.provisioning.resources import ScimUser

    ScimUser.model_validate({"schemas": [USER], "userName": "ada", **user})


def read_group(group: dict[str, Any]) -> None:
    from scim2_models import Group

    from app.provisioning.resources import group_fields

    group_fields(Group.model_validate({"schemas": [GROUP], "displayName": "staff", **group}))


def read_patch(operations: list[dict[str, Any]]) -> None:
    from scim2_models import PatchOp

    from app.provisioning.resources import ScimUser

    patch = PatchOp[ScimUser].model_validate({"schemas": [PATCH], "Operations": operations})
    patch.patch(ScimUser.model_validate({"schemas": [USER], "userName": "ada"}))


def read_names(text: str) -> None:
    """Read a user and a group whose names and ids are this text."""
    from scim2_models import Group, InvalidValueException

    from app.accounts.scim_plan import ScimPlan
    from app.provisioning.resources import ScimUser, group_fields, user_fields

    plan = ScimPlan(b"", "oidc", "externalId")
    for given in ({"externalId": "1", "userName": text}, {"externalId": text, "userName": "ada"}):
        with suppress(InvalidValueException):
            user_fields(ScimUser.model_validate({"schemas": [USER], **given}), plan)
    with suppress(InvalidValueException):
        group_fields(Group.model_validate({"schemas": [GROUP], "displayName": text}))


def operations(operation: dict[str, Any]) -> Callable[[int], list[dict[str, Any]]]:
    return lambda size: [operation] * size


def refused() -> tuple[type[Exception], ...]:
    from scim2_models import SCIMException

    return ValueError, SCIMException, RecursionError


ROWS: Final = (
    CostRow("filter of conditions", repeated('userName eq "a" and ', after='userName eq "a"'), read_filter, 0, 250),
    CostRow("filter of brackets", repeated("("), read_filter, 0, 4_000),
    CostRow("filter of negations", repeated("not (", after='userName eq "a"'), read_filter, 0, 4_000),
    CostRow("filter of spaces", repeated(" ", "userName", 'eq "a"'), read_filter, 0, 16_000),
    CostRow("filter of a long value", repeated("\\\\", 'userName eq "', '"'), read_filter, 0, 16_000),
    CostRow("filter of a long path", repeated("a.", after='b eq "a"'), read_filter, 0, 4_000),
    CostRow("filter of unfinished values", repeated('a eq "'), read_filter, 0, 4_000),
    CostRow("addresses of a user", lambda n: {"emails": [{"value": "a@b"}] * n}, read_user, 0, 1_000),
    CostRow("unknown attributes", lambda n: {f"a{i}": 1 for i in range(n)}, read_user, 0, 2_000),
    CostRow("name of a user", lambda n: {"displayName": "a" * n}, read_user, 0, 250_000),
    CostRow("members of a group", lambda n: {"members": [{"value": str(i)} for i in range(n)]}, read_group, 0, 1_000),
    CostRow(
        "operations of a patch",
        operations({"op": "replace", "path": "displayName", "value": "a"}),
        read_patch,
        0,
        250,
    ),
    CostRow(
        "path of a patch",
        lambda n: [{"op": "replace", "path": f"emails[{'(' * n}", "value": "a"}],
        read_patch,
        0,
        4_000,
    ),
    CostRow("names of combining marks", repeated("\u0301\u0316", "a"), read_names, 0, 16_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    row = CostRow(row.name, row.make, row.read, row.size, row.full, refused())
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
