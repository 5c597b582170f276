"""Roles of replicas, as a setting names them."""

from typing import Final, get_args

from engine.api.role import Role

ROLES: Final[tuple[Role, ...]] = get_args(Role)


def parse_roles(text: str) -> tuple[Role, ...]:
    """Parse names of roles, separated by commas, one for each replica. Raise ValueError with the reason."""
    return tuple(_role(name.strip()) for name in text.split(","))


def _role(name: str) -> Role:
    role = next((each for each in ROLES if each == name), None)
    if role is None:
        raise ValueError(f"{name!r} is not one of {', '.join(ROLES)}")
    return role
