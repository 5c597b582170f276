"""Rendering of messages to token ids through the model's own chat template.

The content of a message can never become a control token: "<|im_end|>" in a message is encoded as ten characters.
"""

import json
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from jinja2 import Template

from models.chat.harmony_thinking import HarmonyThinking, find_harmony_thinking
from models.chat.template_files import TemplateSources, read_templates
from models.chat.template_rendering import TemplateRoles, Turn, compile_template, probe_roles, render_template
from models.chat.template_tools import PROBE_TOOL, TemplateTools, probe
from models.chat.tool_calls import ToolCall, read_object
from models.chat.tool_format import ToolFormat, find_tool_format
from models.chat.written_thinking import find_written_thinking
from models.errors import ChatFormatError
from models.thinking import Thinking, ThinkingMode, find_thinking, switches
from models.tokenizers.slices import check_length
from models.tokenizers.text_tokenizer import TextTokenizer
from models.tokenizers.tokenizer_info import tokenizer_info
from models.weights.folder import ModelFolder

logger = logging.getLogger(__name__)

PIECE = 1 << 16
"""Maximum number of characters per search."""

_MOST_AROUND_CALL = 64
"""Number of tokens around the name and the arguments of a call, in which its id is searched."""

INVALID_JSON = "INVALID_JSON"
"""Field that holds arguments that are not a JSON object, for templates that take only objects. The name is the one that
Anthropic's documentation suggests.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    role: "system", "user", "assistant", or "tool" for the result of a call. The first message may have the role
        "tools": its content is a JSON list of the available tools in OpenAI's format.
    tool_calls: calls of an assistant's message.
    result_of: for the result of a call, the call's name and its id in the prompt. `ChatFormat` sets it.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    result_of: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """Content, and the names and arguments of the calls, independent of any model's format."""
        return self.content + "".join(call.name + call.arguments for call in self.tool_calls)


@dataclass(frozen=True, slots=True)
class _Form:
    """A chat template with the messages and tools that it writes. template: None if the model has none."""

    template: Template | None
    roles: TemplateRoles
    tools: ToolFormat

    @property
    def parts(self) -> TemplateTools:
        return self.tools.template


class ChatFormat:
    """Renderer of conversations for one model."""

    def __init__(
        self,
        sources: TemplateSources,
        tokenizer: TextTokenizer,
        *,
        variables: dict[str, str],
        leading_id: int | None = None,
        info: Mapping[str, Any],
        tool_format: str | None = None,
    ) -> None:
        """Compile the templates, and find what they write. Raise InvalidTemplateError if one is not valid Jinja.

        variables: special tokens such as bos_token, by name.
        leading_id: id that every prompt begins with, although the template does not write it; None if there is none.
        info: description of tokenizer and template for clients.
        tool_format: name of the tool format; None to find it.
        """
        self.tokenizer_info = info
        self._tokenizer = tokenizer
        self._variables = variables
        self._leading_id = leading_id
        template = sources.default or sources.tool_use or ""
        self.thinking: Thinking | None = (
            find_harmony_thinking(template, tokenizer)
            or find_thinking(tokenizer.control_tokens, template)
            or find_written_thinking(template, tokenizer)
        )
        is_one = sources.tool_use == sources.default
        self._tool_form = self._form(sources.tool_use, tool_format, needs_tools=not is_one)
        self.tools = self._tool_form.tools
        self._plain_form = self._tool_form if is_one else self._form(sources.default, self.tools.name)
        texts = sorted(tokenizer.control_tokens, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, texts)) or r"(?!)")
        self._longest_control = len(texts[0]) if texts else 0

    @classmethod
    def load(cls, path: Path, tokenizer: TextTokenizer, tool_format: str | None = None) -> "ChatFormat":
        """Read the templates of the folder `path`, as `read_templates` finds them.

        tool_format: name of the tool format; None to find it.

        A template that cannot write a single question is a warning in the log, since plain completions need none.
        Raise InvalidTemplateError if a template is not valid Jinja, and ModelError if a file cannot be read.
        """
        folder = ModelFolder(path)
        config = folder.tokenizer_config()
        architectures = folder.config().get("architectures") or []
        # openPangu's template does not write the first token, but all of the vendor's recipes add it once.
        leads = "PanguEmbeddedForCausalLM" in architectures and config.get("add_bos_token", True)
        sources = read_templates(folder)
        chat = cls(
            sources,
            tokenizer,
            variables=_special_texts(config),
            leading_id=tokenizer.bos_token_id if leads else None,
            info=tokenizer_info(folder, tokenizer, sources.default),
            tool_format=tool_format,
        )
        try:
            chat.render([Message("user", "Hello")])
        except ChatFormatError as error:
            logger.warning("chats with this model are refused: %s", error)
        return chat

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        """Encode the whole conversation and the start of the next answer.

        thinking: one of the modes of `self.thinking`; None for the model's default. The mode applies to this answer
            only, and its instruction is not part of later prompts.

        Raise ChatFormatError if there is no template or the template rejects the messages.
        """
        shielded, frame = self._shield(self._asked(self._with_results_named(messages), thinking))
        return self._led(self._encode(self._text(shielded, thinking), frame))

    def next_prefix(self, messages: Sequence[Message]) -> list[int]:
        """Encode the prefix that the next prompt will share, independent of the next question.

        The prefix ends at the last control token before the question. Raise ChatFormatError as `render` does.

        messages: the conversation, whose last message is an answer.
        """
        mark = unused_character([message.text for message in messages])
        shielded, frame = self._shield([*self._with_results_named(messages), Message("user", mark)], avoid=mark)
        before, found, _ = self._text(shielded, None).rpartition(mark)
        ends = [hit.end() for hit in self._control.finditer(before)]
        return self._led(self._encode(before[: ends[-1]], frame)) if found and ends else []

    def extend(
        self,
        prior_ids: Sequence[int],
        messages: Sequence[Message],
        *,
        num_new: int = 1,
        thinking: ThinkingMode | None = None,
    ) -> list[int]:
        """Encode the ids that follow `prior_ids` when the last `num_new` messages are added to a conversation.

        The result closes the last answer's turn (unless prior_ids already ends with the end-of-turn id), adds the new
        messages and starts the next answer. Earlier turns are never encoded again.

        prior_ids: the exact ids of the conversation up to the last token that the model generated for the last answer,
            which is the message before the new ones.
        thinking: as in `render`.

        Raise ChatFormatError if no answer precedes the new messages, or the template does not write the answer exactly
        once.
        """
        num_old = len(messages) - num_new
        if num_old < 1 or messages[num_old - 1].role != "assistant":
            raise ChatFormatError("a conversation can only be extended after an answer")
        form = self._form_of(messages)
        if messages[num_old - 1].tool_calls and form.parts.needs_calls:
            raise ChatFormatError("the chat template writes results only after calls that it wrote itself")
        if num_new and not form.roles.takes("assistant", messages[num_old].role):
            raise ChatFormatError("the chat template takes one answer after another as one")
        messages = self._with_written_ids(prior_ids, self._with_results_named(messages), num_old)
        mark = unused_character([message.text for message in messages])
        marked = [
            *messages[: num_old - 1],
            replace(messages[num_old - 1], content=mark, tool_calls=()),
            *messages[num_old:],
        ]
        shielded, frame = self._shield(self._asked(marked, thinking), avoid=mark)
        before, found, after = self._text(shielded, thinking).rpartition(mark)
        if not found or mark in before:
            raise ChatFormatError("the chat template does not write the last answer exactly once")
        ids = self._encode(after, frame)
        return ids[1:] if prior_ids and ids[:1] == [prior_ids[-1]] and self._ends_turn(prior_ids[-1]) else ids

    def _with_results_named(self, messages: Sequence[Message]) -> list[Message]:
        """Tell each result its call. Results follow their calls in the same order."""
        named, waiting, count = list[Message](), deque[tuple[str, str]](), 0
        for message in messages:
            if message.role == "tool":
                message = replace(message, result_of=waiting.popleft() if waiting else None)
            elif message.role == "assistant":
                numbered = enumerate(message.tool_calls, count)
                waiting = deque((call.name, self._id_of(call, number)) for number, call in numbered)
                count += len(waiting)
            named.append(message)
        return named

    def _with_written_ids(self, prior_ids: Sequence[int], messages: list[Message], num_old: int) -> list[Message]:
        """Give the results after the last answer the ids that the model itself wrote in its calls.

        prior_ids: as in `extend`.
        num_old: number of messages up to the answer.
        """
        answer, written = messages[num_old - 1], self.tools.syntax.ids.written
        count = len(answer.tool_calls)
        if not count or written is None:
            return messages
        tail = prior_ids[-(2 * len(answer.text) + count * _MOST_AROUND_CALL) :]
        found = written.findall(self._tokenizer.describe(tail))[-count:]
        if len(found) < count:
            return messages
        ids = deque(found)
        return [
            replace(message, result_of=(message.result_of[0], ids.popleft()))
            if at >= num_old and ids and message.result_of is not None
            else message
            for at, message in enumerate(messages)
        ]

    def _id_of(self, call: ToolCall, number: int) -> str:
        return self.tools.syntax.ids.of(call.name, number)

    def _ends_turn(self, id_: int) -> bool:
        return id_ in self._tokenizer.control_tokens.values()

    def _asked(self, messages: Sequence[Message], mode: ThinkingMode | None) -> list[Message]:
        """Append the mode's suffix to the last question, for models that read the thinking mode from there."""
        suffix = self.thinking.suffixes.get(mode, "") if self.thinking is not None and mode is not None else ""
        asked = list(messages)
        last = next((index for index in reversed(range(len(asked))) if asked[index].role == "user"), None)
        if last is not None and not asked[last].content.endswith(suffix):
            asked[last] = replace(asked[last], content=asked[last].content + suffix)
        return asked

    def _led(self, ids: list[int]) -> list[int]:
        return ids if self._leading_id is None or ids[:1] == [self._leading_id] else [self._leading_id, *ids]

    def _text(self, messages: Sequence[Message], thinking: ThinkingMode | None) -> str:
        """Render the messages. Raise ChatFormatError if there is no template, or the template refuses them."""
        form = self._form_of(messages)
        template = form.template
        if template is None:
            raise ChatFormatError("the model has no chat template: chat with another model, or use plain completions")
        told: dict[str, Any] = {} if thinking is None else dict(switches(thinking))
        if thinking is not None and isinstance(self.thinking, HarmonyThinking):
            told |= self.thinking.channels.variables[thinking]
        told |= self._variables
        tools, turns = None, messages
        if messages and messages[0].role == "tools":
            tools, turns = json.loads(messages[0].content), messages[1:]
        try:
            return render_template(template, self._turns(form, turns, as_objects=False), tools, told)
        except ChatFormatError:
            if not any(_has_text_arguments(message) for message in turns):
                raise
        # Some templates write arguments that are text as they are, others only the fields of an object.
        return render_template(template, self._turns(form, turns, as_objects=True), tools, told)

    def _turns(self, form: _Form, messages: Sequence[Message], *, as_objects: bool) -> list[Turn]:
        """Convert messages to the dictionaries that chat templates expect, in an order of roles that `form` takes.

        as_objects: write arguments that are not a JSON object as the field of one, instead of as text.
        """
        turns, count = list[Turn](), 0
        nothing = None if form.parts.has_null_content else ""
        for message in messages:
            turn: dict[str, Any] = {"role": message.role, "content": message.content}
            if message.tool_calls:
                turn["content"] = message.content or nothing
                turn["tool_calls"] = [
                    _call(call, self._id_of(call, number), as_object=as_objects)
                    for number, call in enumerate(message.tool_calls, count)
                ]
                count += len(message.tool_calls)
            if message.result_of is not None:
                name, call_id = message.result_of
                turn |= {"name": name, "tool_call_id": call_id}
            turns.append(turn)
        return form.roles.fitted(turns)

    def _form(self, source: str | None, tool_format: str | None, *, needs_tools: bool = False) -> _Form:
        """Compile a template, and find what it writes. Raise InvalidTemplateError if it is not valid Jinja.

        needs_tools: the template is that of conversations with tools alone.
        """
        template = None if source is None else compile_template(source)

        def render(turns: Sequence[Turn], tools: Sequence[Mapping[str, Any]] | None) -> str | None:
            if template is None:
                return None
            try:
                return render_template(template, turns, [PROBE_TOOL] if needs_tools else tools, self._variables)
            except ChatFormatError:
                return None

        roles = probe_roles(render)
        tools = find_tool_format(
            self._tokenizer.control_tokens,
            source or "",
            lambda: probe(lambda turns, tools: render(roles.fitted(turns), tools)),
            tool_format,
        )
        return _Form(template, roles, tools)

    def _form_of(self, messages: Sequence[Message]) -> _Form:
        """Return the form of a conversation. Where Ebb describes its tools, the template receives none."""
        has_tools = bool(messages) and messages[0].role == "tools"
        return self._tool_form if has_tools and self._tool_form.parts.tools else self._plain_form

    def _shield(self, messages: Sequence[Message], avoid: str = "") -> tuple[list[Message], str | None]:
        """Replace the text of control tokens in the contents with placeholders.

        Return the messages and the character that frames a placeholder, None if nothing was replaced.
        Tools that the template cannot write itself are written into the contents here, around the shielded text.
        """
        if not any(self._has_control(message.text) for message in messages):
            return self._with_tools(messages, str), None
        frame = unused_character([*(message.text for message in messages), avoid])
        return self._with_tools(
            messages, lambda text: self._control.sub(lambda hit: self._stand_in(hit[0], frame), text)
        ), frame

    def _has_control(self, text: str) -> bool:
        """Return whether `text` contains a control token's text. The search holds the GIL, so it runs in pieces."""
        return any(
            self._control.search(text, start, start + PIECE + self._longest_control)
            for start in range(0, len(text) or 1, PIECE)
        )

    def _with_tools(self, messages: Sequence[Message], clean: Callable[[str], str]) -> list[Message]:
        """Apply `clean` to the contents, and write into them the tools that the template does not write itself."""
        texts, template = self.tools.syntax.texts, self._form_of(messages).parts
        written = list[Message]()
        if template.has_one_call:
            messages = _one_call_each(messages)
        if messages and messages[0].role == "tools" and not template.tools:
            systems = list(takewhile(lambda message: message.role == "system", messages[1:]))
            opening = [*(clean(each.content) for each in systems), self.tools.system(messages[0].content, clean)]
            written.append(Message("system", "\n\n".join(opening)))
            messages = messages[1 + len(systems) :]
        for message in messages:
            content = clean(message.content)
            if message.role == "tool" and not template.results:
                written.append(Message(texts.result_role, texts.result.format(result=content)))
            elif message.tool_calls and not template.calls:
                between = "\n" if content and texts.on_own_line else ""
                written.append(Message(message.role, content + between + self.tools.calls(message.tool_calls, clean)))
            else:
                written.append(_cleaned(message, clean))
        return written

    def _stand_in(self, control_text: str, frame: str) -> str:
        return f"{frame}{self._tokenizer.control_tokens[control_text]}{frame}"

    def _plain(self, text: str, frame: str) -> list[int]:
        texts = {str(id_): text for text, id_ in self._tokenizer.control_tokens.items()}
        original = re.sub(f"{frame}([0-9]+){frame}", lambda hit: texts[hit[1]], text)
        return self._tokenizer.encode(original, special=False)

    def _encode(self, text: str, frame: str | None) -> list[int]:
        if frame is None:
            return self._tokenizer.encode(text, special=True)
        # Control tokens split a text before tokenization, so the spans between them are independent.
        ids, start = list[int](), 0
        for hit in self._control.finditer(text):
            ids += self._plain(text[start : hit.start()], frame)
            ids.append(self._tokenizer.control_tokens[hit[0]])
            check_length(len(ids), self._tokenizer.most_ids)
            start = hit.end()
        return ids + self._plain(text[start:], frame)


def _cleaned(message: Message, clean: Callable[[str], str]) -> Message:
    calls = tuple(ToolCall(clean(call.name), clean(call.arguments)) for call in message.tool_calls)
    named = None if message.result_of is None else (clean(message.result_of[0]), clean(message.result_of[1]))
    return Message(message.role, clean(message.content), calls, named)


def _one_call_each(messages: Sequence[Message]) -> list[Message]:
    """Split answers with several calls into answers with one call, each followed by its result."""
    split, waiting = list[Message](), deque[Message]()
    for message in messages:
        if message.role != "tool":
            split += waiting
            waiting.clear()
        split.append(replace(message, tool_calls=message.tool_calls[:1]))
        if message.role == "tool" and waiting:
            split.append(waiting.popleft())
        waiting += (Message(message.role, "", (call,)) for call in message.tool_calls[1:])
    return [*split, *waiting]


def _call(call: ToolCall, call_id: str, *, as_object: bool) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _arguments(call, as_object=as_object)}
    return {"id": call_id, "type": "function", "function": function}


def _arguments(call: ToolCall, *, as_object: bool) -> dict[str, Any] | str:
    value = read_object(call.arguments or "{}")
    if value is not None:
        return value
    return {INVALID_JSON: call.arguments} if as_object else call.arguments


def _has_text_arguments(message: Message) -> bool:
    return any(call.arguments and read_object(call.arguments) is None for call in message.tool_calls)


def unused_character(texts: Sequence[str]) -> str:
    """Find a private-use character that none of the texts contains."""
    used = set[str]()
    for text in texts:
        # An ASCII text has none, and the test for that costs nothing.
        if not text.isascii():
            used.update(text)
    return next(character for character in map(chr, range(0xE000, 0x10FFFE)) if character not in used)


def _special_texts(config: dict[str, Any]) -> dict[str, str]:
    found = {}
    for name in ("bos_token", "eos_token", "pad_token", "unk_token"):
        value = config.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            found[name] = text
    return found
