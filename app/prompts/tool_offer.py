"""Tools that a request of any API offers: their description in the prompt, and the required format of the answer."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.prompts.call_or_form import call_or_form
from app.prompts.free_calls import free_calls
from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.grammar.enforceable import enforceable
from models.chat.format import Message
from models.chat.tool_format import ToolFormat

WordOfChoice = Literal["none", "auto", "required"]


@dataclass(frozen=True, slots=True)
class NamedChoice:
    """The one function that must be called.

    param: name in the client's API of the field that requires the function.
    """

    name: str
    param: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """Tools that an answer may call.

    functions: each with its `name`, and with `description` and `parameters` (a JSON Schema) if given.
    choice: whether the model may, must, or must not call a function, or the one that it must call.
    parallel: whether an answer may call more than one function. If False, only the first call counts.
    custom: names of the functions that stand for custom tools, whose input is one text (`models.chat.custom_input`).
    lark: custom tools whose input has a Lark grammar, with the grammar's name in the client's API.
    loaded: more functions, which the history describes (`described_inline`) and the prompt's beginning does not.
    namespaces: the namespace and the name within it of each function that is in one, by the function's name.
    """

    functions: Sequence[Mapping[str, Any]] = ()
    choice: WordOfChoice | NamedChoice = "auto"
    parallel: bool = True
    custom: frozenset[str] = frozenset()
    lark: Mapping[str, str] = field(default_factory=dict)
    loaded: Sequence[Mapping[str, Any]] = ()
    namespaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def is_made(self) -> bool:
        """Whether the prompt describes any tools."""
        return bool(self.functions or self.loaded) and self.choice != "none"

    @property
    def known_functions(self) -> Sequence[Mapping[str, Any]]:
        """All functions whose descriptions the model has read."""
        return [*self.functions, *self.loaded]

    @property
    def is_named(self) -> bool:
        """Whether the request names the one function to call."""
        return isinstance(self.choice, NamedChoice)

    @property
    def is_required(self) -> bool:
        """Whether the answer must be a call."""
        return self.is_named or self.choice == "required"

    @property
    def messages(self) -> list[Message]:
        """Messages that describe the tools at the beginning of the prompt."""
        if not self.is_made or not self.functions:
            return []
        tools = [{"type": "function", "function": dict(function)} for function in self.functions]
        return [Message("tools", json.dumps(tools, ensure_ascii=False))]

    def among(self, names: Sequence[str], choice: WordOfChoice, *, param: str) -> "ToolOffer":
        """Return the offer of only the functions `names`.

        param: name in the client's API of the field that lists them.

        Raises:
            InvalidRequestError: one of them is not offered.
        """
        offered = {str(function["name"]): function for function in self.functions}
        if missing := next((name for name in names if name not in offered), None):
            raise InvalidRequestError(f"{param}: tools has no function {missing}", param=param)
        chosen = [function for name, function in offered.items() if name in names]
        return replace(self, functions=chosen, choice=choice)

    def applied(self, params: SamplingParams, tools: ToolFormat) -> SamplingParams:
        """Return `params` for an answer that may call the tools, or that must if a call is required.

        An answer that must call has no text, so a format that the request demands of the text does not apply. One that
        may call is a call or has the format. Without a format, its text is free and its calls have their form.

        Raises:
            InvalidRequestError: the required tool is not offered, or the form of its input cannot be enforced.
        """
        if (form := self._form(tools)) is not None:
            # A call that a grammar forces is one in whichever tokens the model writes it.
            return replace(params, form=form)
        if self.is_made and params.form is not None:
            joined = call_or_form(params.form, self.known_functions, tools, parallel=self.parallel)
            if joined is not None:
                return replace(params, form=joined, is_read_for_calls=True)
        if not self.is_made or params.form is not None:
            return replace(params, is_read_for_calls=self.is_made)
        form = free_calls(self.known_functions, tools, parallel=self.parallel)
        return replace(
            params, is_read_for_calls=True, call_form=form, call_openings=tools.openings(self.known_functions)
        )

    def as_message(
        self, tools: ToolFormat, text: str, cut_before: str | None, *, only_complete: bool = False
    ) -> Message:
        """Convert an answer's text to the message that the client will send back as history.

        cut_before: as in `engine.api.outputs.RequestOutput`.
        only_complete: as in ToolCallParser.
        """
        parser = tools.parser(parallel=self.parallel, tools=self.known_functions, only_complete=only_complete)
        parsed = parser.whole(text, cut_before)
        return Message("assistant", parsed.text, parsed.calls)

    def _form(self, tools: ToolFormat) -> StructuredOutput | None:
        if self.choice in ("none", "auto"):
            return None
        functions = self.known_functions
        if isinstance(self.choice, NamedChoice):
            name = self.choice.name
            functions = [function for function in functions if function["name"] == name][:1]
            if not functions:
                raise InvalidRequestError(
                    f"tool_choice: tools has no function {name} that a client runs", param=self.choice.param
                )
        elif not functions:
            raise InvalidRequestError(
                "tool_choice: tools has no function that a client runs, so no tool call can be required",
                param="tool_choice",
            )
        if path := next((self.lark[name] for each in functions if (name := each["name"]) in self.lark), None):
            raise InvalidRequestError(
                f"{path}: a Lark grammar cannot be enforced within a call, so no such call can be required. Use the "
                "syntax regex, or leave the choice to the model (auto).",
                param=path,
            )
        for each in functions:
            if each["name"] in self.custom and (left_out := enforceable(each.get("parameters")).left_out):
                raise InvalidRequestError(
                    f"tools: {left_out[0]} of the input of {each['name']} cannot be enforced, so no such call can be "
                    "required. Leave the choice to the model (auto).",
                    param="tools",
                )
        return StructuredOutput("calls", tools.grammar(functions, parallel=self.parallel and not self.is_named))


def described_inline(functions: Iterable[Mapping[str, Any]]) -> str:
    """Return the text that describes `functions` behind the beginning of a prompt.

    Claude Code announces this form to the model in the description of its search for tools.
    """
    lines = (f"<function>{json.dumps(dict(each), ensure_ascii=False)}</function>" for each in functions)
    return "\n".join(("<functions>", *lines, "</functions>"))


def in_name_order(tools: Message) -> Message:
    """Return the message of an offer with its tools in the order of their names. Tools of one name keep their order.

    The order of a client may depend on a hash table, and means nothing to a model. The keys inside of a schema keep
    their order: a model writes its arguments in it.
    """
    listed = sorted(json.loads(tools.content), key=lambda tool: str(tool["function"]["name"]))
    return replace(tools, content=json.dumps(listed, ensure_ascii=False))
