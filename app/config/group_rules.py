"""Rules for the groups of people, as users write them.

`staff=user,ops=admin`, `staff.concurrent-runs=2` and `staff=keys+files`.
"""

from typing import Final

from app.config.named_values import named_values
from app.domain.rights import ALL_RIGHTS, RIGHTS, Rights

Roles = dict[str, str]
"""`user` or `admin` by the name of a group."""

GroupLimits = dict[str, dict[str, int]]
"""Limits by the name of a group and the name of the limit."""

GroupRights = dict[str, Rights]
"""Rights by the name of a group."""

ROLES: Final = ("user", "admin")
GROUP_LIMITS: Final = ("requests-per-minute", "tokens-per-minute", "concurrent-runs", "open-requests")
"""Limits that a group can set. Limits on stored data belong to one tenant."""
MOST: Final = 1 << 40


def parse_roles(text: str) -> Roles:
    """Parse groups and their roles. Raise ValueError with the reason."""
    roles = named_values(text, "group=user")
    for group, role in roles.items():
        if role not in ROLES:
            raise ValueError(f"the role of {group} is {role!r}, and must be user or admin")
    return roles


def parse_group_limits(text: str) -> GroupLimits:
    """Parse the limits of groups. Raise ValueError with the reason."""
    limits: GroupLimits = {}
    for name, number in named_values(text, "group.concurrent-runs=2").items():
        group, _, limit = name.rpartition(".")
        if not group or limit not in GROUP_LIMITS:
            raise ValueError(f"{name!r} does not end with the name of a limit: {', '.join(GROUP_LIMITS)}")
        if not (number.isascii() and number.isdigit() and int(number) <= MOST):
            raise ValueError(f"the limit {name} is {number!r}, and must be a whole number up to {MOST}")
        limits.setdefault(group, {})[limit.replace("-", "_")] = int(number)
    return limits


def parse_group_rights(text: str) -> GroupRights:
    """Parse the rights of groups. Raise ValueError with the reason."""
    return {group: parse_rights(rights) for group, rights in named_values(text, "group=keys+files").items()}


def parse_rights(text: str) -> Rights:
    """Parse rights, separated by a plus: `keys+files`, `all` or `none`. Raise ValueError with the reason."""
    if text in ("all", "none"):
        return ALL_RIGHTS if text == "all" else frozenset()
    wanted = {part.strip() for part in text.split("+")}
    unknown = wanted - ALL_RIGHTS
    if unknown:
        raise ValueError(f"{min(unknown)!r} is no right: all, none, or some of {'+'.join(RIGHTS)}")
    return frozenset(right for right in RIGHTS if right in wanted)
