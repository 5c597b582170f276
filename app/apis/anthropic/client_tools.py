"""Tools of Anthropic's API that the client runs, and whose input only the documentation describes.

Source: https://docs.claude.com/en/docs/agents-and-tools/tool-use, and the commands in the `anthropic` package, 2.14.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from app.apis.openai.tools_schema import FunctionName
from app.schemas.cache_mark import Markable

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_LINE: Final[Schema] = {"type": "integer"}
_LINES: Final[Schema] = {"type": "array", "items": _LINE, "minItems": 2, "maxItems": 2}
_EDITS: Final[Schema] = {
    "path": _TEXT,
    "view_range": _LINES,
    "file_text": _TEXT,
    "old_str": _TEXT,
    "new_str": _TEXT,
    "insert_line": _LINE,
}
_COMMANDS: Final = ("view", "create", "str_replace", "insert")


def _input(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _editor(*commands: str, inserted: str) -> tuple[str, Schema]:
    """Describe an editor. inserted: the field with the text that `insert` adds."""
    return (
        "View and edit text files. `view` shows a file or a folder, `create` writes a file, `str_replace` replaces "
        f"`old_str`, which must occur exactly once, by `new_str`, and `insert` adds `{inserted}` after the line "
        "`insert_line`.",
        _input({"command": {"enum": list(commands)}, **_EDITS, inserted: _TEXT}, "command", "path"),
    )


_BASH: Final = (
    "Run a command in a persistent bash session. `restart` starts a new session.",
    _input({"command": _TEXT, "restart": {"type": "boolean"}}, "command"),
)
_MEMORY: Final = (
    "Read and write files below /memories, which stay between conversations. `view` shows a file or a folder, `create` "
    "writes a file, `str_replace` replaces `old_str` by `new_str`, `insert` adds `insert_text` after the line "
    "`insert_line`, `delete` removes `path`, and `rename` moves `old_path` to `new_path`.",
    _input(
        {
            "command": {"enum": [*_COMMANDS, "delete", "rename"]},
            **_EDITS,
            "insert_text": _TEXT,
            "old_path": _TEXT,
            "new_path": _TEXT,
        },
        "command",
    ),
)

ClientToolType = Literal[
    "bash_20241022",
    "bash_20250124",
    "text_editor_20241022",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "memory_20250818",
]

_TOOLS: Final[Mapping[ClientToolType, tuple[str, Schema]]] = {
    "bash_20241022": _BASH,
    "bash_20250124": _BASH,
    "text_editor_20241022": _editor(*_COMMANDS, "undo_edit", inserted="new_str"),
    "text_editor_20250124": _editor(*_COMMANDS, "undo_edit", inserted="new_str"),
    "text_editor_20250429": _editor(*_COMMANDS, inserted="new_str"),
    "text_editor_20250728": _editor(*_COMMANDS, inserted="insert_text"),
    "memory_20250818": _MEMORY,
}
"""Description and input of each tool."""


class ClientTool(Markable):
    """A tool of Anthropic's that the client runs. The model reads the documented description and input.

    defer_loading: as in `AnthropicTool`.
    """

    ignored: ClassVar[frozenset[str]] = frozenset(
        {"allowed_callers", "eager_input_streaming", "input_examples", "strict", "max_characters"}
    )

    type: ClientToolType
    name: FunctionName
    defer_loading: bool | None = None

    @property
    def function(self) -> dict[str, Any]:
        """The tool's description in OpenAI's form."""
        description, parameters = _TOOLS[self.type]
        return {"name": self.name, "description": description, "parameters": parameters}
