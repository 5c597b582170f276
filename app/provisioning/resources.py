"""Users and groups of SCIM, and the records that are stored of them."""

import json
from datetime import UTC, datetime
from typing import Any, Final
from unicodedata import normalize

from scim2_models import EnterpriseUser, Group, InvalidValueException, Resource, User

from app.accounts.scim_plan import ScimPlan
from app.storage.provisioning import GroupFields, StoredResource, UserFields
from app.tenants.person import Identity

MAX_TEXT: Final = 255
NOT_STORED: Final = frozenset({"id", "meta", "groups", "members", "password"})
"""Attributes that are columns, follow from others, or are none of the server's business."""

ScimUser = User[EnterpriseUser]


def comparable(text: str) -> str:
    """Return the form in which SCIM compares a text that is not case-exact (`default_comparison_key`)."""
    return normalize("NFC", normalize("NFC", text).lower())


def user_fields(user: Resource[Any], plan: ScimPlan) -> UserFields:
    """Return the fields of a user to store. Raise InvalidValueException if the user has no usable subject."""
    assert isinstance(user, User)
    external_id, name = user.external_id, user.user_name or ""
    subject = (external_id or "") if plan.subject == "externalId" else name
    if not subject.isprintable() or not 0 < len(subject) <= MAX_TEXT:
        raise InvalidValueException(
            detail=f"{plan.subject} is the name under which the person logs in: it must have 1 to {MAX_TEXT} characters"
        )
    if len(name) > MAX_TEXT:
        raise InvalidValueException(detail=f"userName must have at most {MAX_TEXT} characters")
    identity = Identity(plan.issuer, subject, _shown_name(user)[:MAX_TEXT], _email(user)[:MAX_TEXT])
    return UserFields(identity, comparable(name), _exact(external_id), user.active is not False, _body(user))


def group_fields(group: Resource[Any]) -> GroupFields:
    """Return the fields of a group to store. Raise InvalidValueException if a member is not a user."""
    assert isinstance(group, Group)
    name = group.display_name or ""
    if not name.isprintable() or not 0 < len(name) <= MAX_TEXT:
        raise InvalidValueException(detail=f"displayName must have 1 to {MAX_TEXT} characters")
    members = group.members or []
    if any(member.type not in (None, "User") for member in members):
        raise InvalidValueException(detail="A member of a group must be a user: groups within groups are not supported")
    users = {member.value: member.display for member in members if member.value is not None}
    return GroupFields(name, comparable(name), _exact(group.external_id), _body(group), users)


def resource_of(stored: StoredResource, model: type[Resource[Any]], kind: str) -> Resource[Any]:
    """Return the user or the group of a stored record.

    kind: name of the resource type.
    """
    content: dict[str, Any] = json.loads(stored.body)
    content["id"] = stored.id
    content["meta"] = {
        "resourceType": kind,
        "created": _time(stored.created_at),
        "lastModified": _time(stored.changed_at),
        "version": version_tag(stored.version),
    }
    if kind == "User":
        content["groups"] = [
            {"value": link.id, "display": link.name, "type": "direct", "$ref": f"Groups/{link.id}"}
            for link in stored.links
        ]
    else:
        content["members"] = [
            {"value": link.id, "display": link.name, "type": "User", "$ref": f"Users/{link.id}"}
            for link in stored.links
        ]
    return model.model_validate(content)


def version_tag(version: int) -> str:
    """Return the entity tag of a version."""
    return f'W/"{version}"'


def version_of(tag: str | None) -> int | None:
    """Return the version that `version_tag` made a tag of; None without a tag."""
    return int(tag.removeprefix('W/"').removesuffix('"')) if tag is not None else None


def _body(resource: Resource[Any]) -> str:
    content = resource.model_dump(mode="json")
    return json.dumps({name: value for name, value in content.items() if name not in NOT_STORED}, ensure_ascii=False)


def _exact(external_id: str | None) -> str | None:
    """Return the form of an id that is stored. Raise InvalidValueException: it is too long to be composed."""
    if external_id is None:
        return None
    if len(external_id) > MAX_TEXT:
        raise InvalidValueException(detail=f"externalId must have at most {MAX_TEXT} characters")
    return normalize("NFC", external_id)


def _shown_name(user: User[Any]) -> str:
    if user.display_name:
        return user.display_name
    if user.name is not None:
        parts = (user.name.given_name, user.name.family_name)
        return user.name.formatted or " ".join(part for part in parts if part) or user.user_name or ""
    return user.user_name or ""


def _email(user: User[Any]) -> str:
    emails = sorted(user.emails or [], key=lambda email: not email.primary)
    return next((email.value for email in emails if email.value), "")


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
