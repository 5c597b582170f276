"""The tools that a request offers, by whichever API it came: what the model is told of them, and what its answer must
be."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.errors import InvalidRequestError
from engine.grammar.form import AnswerForm
from engine.sampling_params import SamplingParams
from models.pangu.chat_format import Message
from models.tool_format import ToolFormat

WordOfChoice = Literal["none", "auto", "required"]


@dataclass(frozen=True, slots=True)
class NamedChoice:
    """The one function that must be called. param: the client's name of the field that says it."""

    name: str
    param: str


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """functions: `name`, and what there is of `description` and `parameters` (a JSON Schema). parallel: whether an
    answer may call more than one; of an answer that does although it may not the first call counts."""

    functions: Sequence[Mapping[str, Any]] = ()
    choice: WordOfChoice | NamedChoice = "auto"
    parallel: bool = True

    @property
    def is_made(self) -> bool:
        """Whether the model is told of any."""
        return bool(self.functions) and self.choice != "none"

    @property
    def is_named(self) -> bool:
        """Whether there is no choice which one is called."""
        return isinstance(self.choice, NamedChoice)

    @property
    def messages(self) -> list[Message]:
        """What the prompt begins with."""
        if not self.is_made:
            return []
        tools = [{"type": "function", "function": dict(function)} for function in self.functions]
        return [Message("tools", json.dumps(tools, ensure_ascii=False))]

    def applied(self, params: SamplingParams, how: ToolFormat) -> SamplingParams:
        """`params`, with the form of an answer that must call a tool where it must.

        Raises:
            InvalidRequestError: the tool that must be called is not there, or the answer is to have another form.
        """
        form = self._form(how)
        if form is None:
            return params
        if params.form is not None:
            raise InvalidRequestError(
                "tool_choice: an answer that must call a tool can have no other form", param="tool_choice"
            )
        return replace(params, form=form)

    def as_message(self, how: ToolFormat, text: str) -> Message:
        """An answer as its client sends it again."""
        parsed = how.parser(parallel=self.parallel).whole(text)
        return Message("assistant", parsed.text, parsed.calls)

    def _form(self, how: ToolFormat) -> AnswerForm | None:
        if self.choice in ("none", "auto"):
            return None
        functions = self.functions
        if isinstance(self.choice, NamedChoice):
            name = self.choice.name
            functions = [function for function in functions if function["name"] == name][:1]
            if not functions:
                raise InvalidRequestError(f"tool_choice: there is no tool {name} in tools", param=self.choice.param)
        elif not functions:
            raise InvalidRequestError("tool_choice: there are no tools to call", param="tool_choice")
        return AnswerForm("calls", how.grammar(functions, parallel=self.parallel and not self.is_named))
