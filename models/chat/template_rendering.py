"""Rendering of chat templates as transformers does it, for which they are written.

A template is a program of the model's author in a sandbox, so it may fail in any way. The environment is made here,
because that of transformers takes a second and 26 MB to import. A conversation is rendered in the order of roles that
the template takes, which is found by rendering.
"""

import datetime
import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final, NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import Scope
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.chat.template_tools import CALL_ID, Render, calling
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


Turn = Mapping[str, Any]
"""A message as chat templates expect it."""

_ROLES: Final = {"S": "system", "U": "user", "A": "assistant", "C": "assistant", "R": "tool"}
"""Roles by the letters of `_writes`. C is an answer with a call, and R is its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRoles:
    """Orders of roles in which a template writes every message in its place.

    has_parts: a content is a list of parts. The template loses a content that is a text.
    has_system: a system message precedes the first question.
    has_systems: several system messages precede the first question.
    has_lone_system: a system message needs no question.
    has_later_systems: system messages follow questions and answers.
    has_adjacent_questions: messages of the user are adjacent.
    has_adjacent_answers: answers are adjacent.
    has_first_answer: an answer precedes the first question.
    has_question_after_results: a message of the user follows results of calls.
    """

    has_parts: bool = False
    has_system: bool = True
    has_systems: bool = True
    has_lone_system: bool = True
    has_later_systems: bool = True
    has_adjacent_questions: bool = True
    has_adjacent_answers: bool = True
    has_first_answer: bool = True
    has_question_after_results: bool = True

    def fitted(self, turns: Sequence[Turn]) -> list[Turn]:
        """Fit a conversation to the template, with every message in its place.

        Leading system messages are joined, or begin the first question. A later one becomes a marked text of the user.
        Adjacent messages of one role are joined, and a message of the user with a result. An empty question precedes
        an answer that would come first.
        """
        groups = list[list[Turn]]()
        for turn in self._with_fitted_systems(turns):
            role = turn["role"]
            if groups and not self.takes(groups[-1][0]["role"], role):
                groups[-1].append(turn)
                continue
            if role == "assistant" and not self.has_first_answer and all(_is_system(group[0]) for group in groups):
                groups.append([{"role": "user", "content": ""}])
            groups.append([turn])
        fitted = [_joined(group, "\n") for group in groups]
        return [_in_parts(turn) for turn in fitted] if self.has_parts else fitted

    def takes(self, role: str, following: str) -> bool:
        """Return whether a message of the role `following` may come after one of `role`."""
        match role, following:
            case "user", "user":
                return self.has_adjacent_questions
            case "assistant", "assistant":
                return self.has_adjacent_answers
            case "tool", "user":
                return self.has_question_after_results
        return True

    def _with_fitted_systems(self, turns: Sequence[Turn]) -> Iterator[Turn]:
        head = list(takewhile(_is_system, turns))
        rest = turns[len(head) :]
        has_question = any(turn["role"] == "user" for turn in rest)
        if head and not (self.has_system and (self.has_lone_system or has_question)):
            first = [*head, *takewhile(_is_question, rest[:1])]
            yield {**_joined(first, "\n\n"), "role": "user"}
            rest = rest[len(first) - len(head) :]
        elif head:
            yield from head if self.has_systems else [_joined(head, "\n\n")]
        for turn in rest:
            yield _as_question(turn) if _is_system(turn) and not self.has_later_systems else turn


def probe_roles(render: Render) -> TemplateRoles:
    """Find the roles that a template takes. A template that does not write a single question is left alone."""

    def render_parts(turns: Sequence[Turn], tools: Sequence[Mapping[str, Any]] | None) -> str | None:
        return render([_in_parts(turn) for turn in turns], tools)

    if _writes(render, "U"):
        return _found(render)
    return replace(_found(render_parts), has_parts=True) if _writes(render_parts, "U") else TemplateRoles()


def _found(render: Render) -> TemplateRoles:
    has_system = _writes(render, "SU")
    return TemplateRoles(
        has_system=has_system,
        has_systems=_writes(render, "SSU"),
        has_lone_system=_writes(render, "S"),
        has_later_systems=_writes(render, "US", "USAU", "UASU", "SUSU", "SUASU"),
        has_adjacent_questions=_writes(render, "UU", "UUAU"),
        has_adjacent_answers=_writes(render, "UAAU"),
        has_first_answer=_writes(render, "AU", *(["SAU"] if has_system else [])),
        has_question_after_results=_writes(render, "UCRU") or not _writes(render, "UCR"),
    )


def _writes(render: Render, *rows: str) -> bool:
    """Return whether a template writes every message of each row in its place. A row has the first letters of roles."""
    return all(_writes_row(render, row) for row in rows)


def _writes_row(render: Render, row: str) -> bool:
    turns = [_probe(letter, f"probe_of_{place}") for place, letter in enumerate(row)]
    text, end = render(turns, None) or "", 0
    for turn in turns:
        end = text.find(turn["content"], end)
        if end < 0:
            return False
    return True


def _probe(letter: str, word: str) -> Turn:
    turn = {"role": _ROLES[letter], "content": word}
    match letter:
        case "C":
            return {**turn, "content": "", "tool_calls": [calling("probe", {"a": "b"})]}
        case "R":
            return {**turn, "name": "probe", "tool_call_id": CALL_ID}
    return turn


def _is_system(turn: Turn) -> bool:
    return bool(turn["role"] == "system")


def _is_question(turn: Turn) -> bool:
    return bool(turn["role"] == "user")


def _as_question(system: Turn) -> Turn:
    return {"role": "user", "content": f"<system-message>\n{system['content']}\n</system-message>"}


def _joined(turns: Sequence[Turn], between: str) -> Turn:
    """Join turns to one with the role of the first. Empty contents are left out."""
    if len(turns) == 1:
        return turns[0]
    content = between.join(turn["content"] for turn in turns if turn["content"])
    calls = [call for turn in turns for call in turn.get("tool_calls", ())]
    return {**turns[0], "content": content} | ({"tool_calls": calls} if calls else {})


def _in_parts(turn: Turn) -> Turn:
    content = turn["content"]
    return {**turn, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else turn
