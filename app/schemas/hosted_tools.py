"""Tools that requests may name but this server does not offer: those that run on a provider's servers, and similar.

Clients describe such tools by default, whether or not the model needs them. They are left out of the request, and the
response names them (`app.schemas.left_out`). A request that requires one is refused.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pydantic import BeforeValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from app.schemas.left_out import LeftOut
from app.schemas.parsing import IgnoredFields

_DESCRIBE: Final = "Describe a function that your client runs, and send its result."
_HOSTED: Final = f"runs on the servers of its provider, and this server runs no tools. {_DESCRIBE}"
_SCREEN: Final = f"returns images, and the model reads text only. {_DESCRIBE}"
_OWN_FORM: Final = f"is called in a form of its own, which this server does not have. {_DESCRIBE}"
_MCP: Final = (
    "needs a connection to an MCP server, and this server makes none. Connect in your client, and describe the MCP "
    "server's tools as functions."
)

_SENTENCES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "web_search",
            "web_search_preview",
            "web_fetch",
            "file_search",
            "code_interpreter",
            "code_execution",
            "image_generation",
            "advisor",
            "tool_search",
            "programmatic_tool_calling",
        ),
        _HOSTED,
    ),
    **dict.fromkeys(
        ("computer", "computer_use", "computer_use_preview", "computer_toolset", "browser_toolset"), _SCREEN
    ),
    **dict.fromkeys(("local_shell", "shell", "apply_patch"), _OWN_FORM),
    **dict.fromkeys(("mcp", "mcp_toolset"), _MCP),
}
_DATE: Final = re.compile(r"_\d{4}_?\d\d_?\d\d$")


def _refuse_hosted(value: Any) -> Any:
    """Return `value`, a tool or the choice of one. Raise PydanticCustomError if its `type` is not offered here."""
    kind = value.get("type") if isinstance(value, dict) else None
    sentence = _SENTENCES.get(_DATE.sub("", kind)) if isinstance(kind, str) else None
    if sentence is not None:
        raise PydanticCustomError("refused", "{reason}", {"name": "type", "reason": f"{kind} {sentence}"})
    return value


def _refuse_if_strict(value: Any, info: ValidationInfo) -> Any:
    return value if isinstance(info.context, IgnoredFields) else _refuse_hosted(value)


class HostedTool(LeftOut):
    """A tool that this server does not offer. A server that is strict about fields refuses it."""

    place: ClassVar[str] = "tools"


NotHosted: Final = BeforeValidator(_refuse_hosted)
"""Mark of the choice of a tool that refuses the tools of this module with a sentence on what to do."""
MayBeHosted: Final = BeforeValidator(_refuse_if_strict)
"""Mark of a tool that may be a HostedTool, unless the server is strict about fields."""


def hosted(kind: str) -> type[HostedTool] | None:
    """Return the model of a tool's type, for `by_type`; None if the type is not one of this module."""
    return HostedTool if _DATE.sub("", kind) in _SENTENCES else None
