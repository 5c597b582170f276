"""The roles that a chat template takes, found by rendering."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from models.template_tools import Render

_TEXT: Final = "probe_of_text"
_SYSTEM: Final = "probe_of_system"


@dataclass(frozen=True, slots=True)
class TemplateRoles:
    """Roles of a template.

    has_system: the template writes system messages.
    has_adjacent: two messages of the user may be adjacent.
    """

    has_system: bool = True
    has_adjacent: bool = True

    @property
    def takes_all(self) -> bool:
        """Whether no message needs another role."""
        return self.has_system and self.has_adjacent


def probe_roles(render: Render) -> TemplateRoles:
    """Find the roles that a template takes. A template that refuses a single question is left alone."""
    user = _turn("user", _TEXT)
    if render([user], None) is None:
        return TemplateRoles()
    system = render([_turn("system", _SYSTEM), user], None)
    return TemplateRoles(
        has_system=system is not None and _SYSTEM in system, has_adjacent=render([user, user], None) is not None
    )


def _turn(role: str, content: str) -> Mapping[str, Any]:
    return {"role": role, "content": content}
