"""Rendering of chat templates as transformers does it, for which they are written.

A template is a program of the model's author in a sandbox, so it may fail in any way. The environment is made here,
because that of transformers takes a second and 26 MB to import.
"""

import datetime
import json
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import Scope
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.errors import ChatFormatError, InvalidTemplateError

_ADVICE: Final = "Correct the line in the model's chat template, or choose another model."


class _Generation(Extension):
    """The tag around answers to train on, which changes no prompt."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> Scope:
        """Parse the tag to the statements within it, whose variables end with it."""
        line = next(parser.stream).lineno
        return Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


def compile_template(source: str) -> Template:
    """Compile a chat template. Raise InvalidTemplateError, which names the line, if it is not valid Jinja."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
    try:
        return environment.from_string(source)
    except TemplateSyntaxError as error:
        problem = f"the chat template is not valid in line {error.lineno}: {error.message}. {_ADVICE}"
        raise InvalidTemplateError(problem) from error


def render_template(
    template: Template,
    turns: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None,
    variables: Mapping[str, Any],
) -> str:
    """Render turns and the start of an answer.

    tools: the available tools in OpenAI's format; None if there are none.
    variables: special tokens such as bos_token, and switches, by name.

    Raise ChatFormatError if the template fails or refuses the turns. The message names the line, except for a refusal
    in the template's own words.
    """
    try:
        return template.render(messages=turns, tools=tools, documents=None, add_generation_prompt=True, **variables)
    except Exception as error:
        if type(error) is TemplateError:
            raise ChatFormatError(f"the chat template refuses the messages: {error}") from error
        problem = f"the chat template fails{_line_of(error)}: {error} ({type(error).__name__}). {_ADVICE}"
        raise ChatFormatError(problem) from error


def _line_of(error: Exception) -> str:
    """Return the innermost line of the template in the traceback of `error`, as words for a sentence."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return f" in line {lines[-1]}" if lines else ""


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write a value as JSON, without the HTML escapes of Jinja's own filter."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.datetime.now().strftime(pattern)
