"""The input of a custom tool, which is one free text. A model writes it as the only field of a call's arguments.

    arguments   {"input": "print(\\"hi\\")"}
    input       print("hi")

Arguments of another form are themselves the input, as the model wrote them.
"""

import json
from typing import Any, Final, Literal

from models.chat.json_scanner import JsonScanner, JsonToken

FIELD: Final = "input"
_HEAD: Final = f'{{"{FIELD}":"'


_Form = Literal["unknown", "field", "ended field", "other"]


class CustomInput:
    """Incremental reader of the arguments of one call. The input does not depend on how the arguments were split."""

    def __init__(self) -> None:
        self._json = JsonScanner()
        self._form: _Form = "unknown"
        self._head = ""
        self._held = list[str]()

    def push(self, arguments: str) -> str:
        """Add a piece of the arguments and return the text that it adds to the input."""
        if self._form == "other":
            return arguments
        if self._has_ended():
            return ""
        self._held.append(arguments)
        text = "".join([self._taken(token) for token in self._json.tokens(arguments)])
        if self._form == "unknown" and self._json.is_broken:
            self._form = "other"
        return self._known(text)

    def _has_ended(self) -> bool:
        """Return whether the text that follows is not part of the arguments."""
        return self._json.is_broken or self._json.is_done

    def _known(self, text: str) -> str:
        """Return the new part of the input. text: its new part if it is a field."""
        if self._form == "unknown":
            return ""
        held = "".join(self._held)
        self._held.clear()
        return held if self._form == "other" else text

    def _taken(self, token: JsonToken) -> str:
        """Take a token and return the text that it adds to the field."""
        match self._form, token.kind:
            case "unknown", kind if kind != "space":
                self._head += token.text
                if self._head == _HEAD:
                    self._form = "field"
                elif not _HEAD.startswith(self._head):
                    self._form = "other"
            case "field", "characters":
                return token.text
            case "field", "escape":
                return str(json.loads(f'"{token.text}"'))
            case "field", "end string":
                self._form = "ended field"
        return ""


def input_of(arguments: str) -> str:
    """Return the input in the arguments of a call, or in the beginning of them."""
    return CustomInput().push(arguments)


def arguments_of(text: str) -> str:
    """Return the arguments of a call with the input `text`."""
    return json.dumps({FIELD: text}, ensure_ascii=False)


def parameters(pattern: str | None = None) -> dict[str, Any]:
    """Return the JSON Schema of the arguments. pattern: regular expression that the whole input matches."""
    text = {"type": "string"} | ({} if pattern is None else {"pattern": f"^(?:{pattern})$"})
    return {"type": "object", "properties": {FIELD: text}, "required": [FIELD], "additionalProperties": False}
