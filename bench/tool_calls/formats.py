"""Writers of the formats that are compared, independent of the writers of Ebb.

Marks that are one token in the vocabularies of the families are one token here too. A special token is left out of
the text where a server skips special tokens.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bench.tool_calls.written import ARGUMENTS_END, SPELLED


@dataclass(frozen=True, slots=True)
class Call:
    """A call that an answer makes.

    style: options of `json.dumps` for the arguments, where a format writes them as JSON.
    """

    name: str
    arguments: Mapping[str, Any]
    style: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of tool calls.

    name: name of Ebb's format.
    peer: name of vLLM's parser.
    write: writes calls, with ARGUMENTS_END after the arguments of each.
    tokens: marks that are one token; True for special tokens.
    closing: mark that ends a call, or a text that looks like such an end.
    mention: sentence that names the marks.
    end: token that ends an answer.
    between: text between a text and the calls after it.
    before_text: header of a text.
    has_text: a text may stand before calls.
    most_calls: maximum number of calls in an answer.
    marks_are_tokens_only: tokens of marks are never part of a value, as the format demands.
    has_json: arguments are written as JSON.
    peer_gap: why vLLM's parser is not measured, or empty.
    peer_streams: vLLM's parser reads streams. One that does not is judged by whole answers.
    """

    name: str
    peer: str
    write: Callable[[Sequence[Call]], str]
    tokens: Mapping[str, bool]
    closing: str
    mention: str
    end: str
    between: str = ""
    before_text: str = ""
    has_text: bool = True
    most_calls: int = 8
    marks_are_tokens_only: bool = False
    has_json: bool = True
    peer_gap: str = ""
    peer_streams: bool = True


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _arguments(call: Call) -> str:
    return json.dumps(call.arguments, **{"ensure_ascii": False, **call.style}) + ARGUMENTS_END


def _object(call: Call, key: str = "arguments") -> str:
    return f'{{"name": "{call.name}", "{key}": {_arguments(call)}}}'


def _list(calls: Sequence[Call]) -> str:
    return f"[{', '.join(map(_object, calls))}]"


def _hermes(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_object(call)}\n</tool_call>" for call in calls)


def _bare(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _qwen3_coder(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        fields = (f"<parameter={name}>\n{_bare(value)}\n</parameter>\n" for name, value in call.arguments.items())
        return f"<tool_call>\n<function={call.name}>\n{''.join(fields)}{ARGUMENTS_END}</function>\n</tool_call>"

    return "\n".join(map(one, calls))


def _glm(line_end: str) -> Callable[[Sequence[Call]], str]:
    def one(call: Call) -> str:
        parts = [f"<tool_call>{call.name}"]
        for name, value in call.arguments.items():
            parts += [f"<arg_key>{name}</arg_key>", f"<arg_value>{_bare(value)}</arg_value>"]
        return line_end.join([*parts, f"{ARGUMENTS_END}</tool_call>"])

    return lambda calls: line_end.join(map(one, calls))


def _llama3(calls: Sequence[Call]) -> str:
    return "; ".join(_object(call, "parameters") for call in calls)


def _mistral(calls: Sequence[Call]) -> str:
    each = (f'{_object(call)[:-1]}, "id": "abc123de{number}"}}' for number, call in enumerate(calls))
    return f"[TOOL_CALLS][{', '.join(each)}]"


def _mistral_v11(calls: Sequence[Call]) -> str:
    each = (
        f"[TOOL_CALLS]{call.name}[CALL_ID]abc123de{number}[ARGS]{_arguments(call)}" for number, call in enumerate(calls)
    )
    return "".join(each)


def _mistral_v13(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{call.name}[ARGS]{_arguments(call)}" for call in calls)


def _deepseek(before: str, after: str, between: str) -> Callable[[Sequence[Call]], str]:
    def one(call: Call) -> str:
        begun = before.replace("NAME", call.name)
        return f"<｜tool▁call▁begin｜>{begun}{_arguments(call)}{after}<｜tool▁call▁end｜>"

    return lambda calls: f"<｜tool▁calls▁begin｜>{between.join(map(one, calls))}<｜tool▁calls▁end｜>"


def _gemma_value(value: object) -> str:
    match value:
        case str():
            return f'<|"|>{value}<|"|>'
        case list():
            return f"[{','.join(map(_gemma_value, value))}]"
        case dict():
            return f"{{{','.join(f'{key}:{_gemma_value(each)}' for key, each in value.items())}}}"
    return _json(value)


def _gemma4(calls: Sequence[Call]) -> str:
    each = (f"<|tool_call>call:{call.name}{_gemma_value(dict(call.arguments))}{ARGUMENTS_END}" for call in calls)
    return "".join(f"{text}<tool_call|>" for text in each)


def _kimi(calls: Sequence[Call]) -> str:
    each = (
        f"<|tool_call_begin|>functions.{call.name}:{number}<|tool_call_argument_begin|>{_arguments(call)}"
        "<|tool_call_end|>"
        for number, call in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{''.join(each)}<|tool_calls_section_end|>"


def _python(call: Call) -> str:
    # Python escapes characters without a glyph, among them the separator of spelled marks.
    fields = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items()).replace("\\ue000", SPELLED)
    return f"{call.name}({fields}{ARGUMENTS_END})"


def _pythonic(calls: Sequence[Call]) -> str:
    return f"[{', '.join(map(_python, calls))}]"


def _olmo3(calls: Sequence[Call]) -> str:
    return f"<function_calls>\n{chr(10).join(map(_python, calls))}\n</function_calls>"


def _harmony(calls: Sequence[Call]) -> str:
    [call] = calls
    return f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>{_arguments(call)}"


def _text_tokens(*marks: str) -> dict[str, bool]:
    return dict.fromkeys(marks, False)


def _special_tokens(*marks: str) -> dict[str, bool]:
    return dict.fromkeys(marks, True)


def _between(start: str, end: str) -> str:
    return f"The mark {start} begins a call, and {end} ends it. Both are {start} and {end} in full."


_DEEPSEEK: Final = _text_tokens(
    "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
)
_GLM: Final = _text_tokens(
    "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<think>", "</think>"
)
_KIMI: Final = _text_tokens(
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<think>",
    "</think>",
)
_HARMONY: Final = _special_tokens(
    "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|return|>", "<|call|>"
)
_QWEN: Final = _text_tokens("<tool_call>", "</tool_call>")
_TOOL_CALL: Final = _between("<tool_call>", "</tool_call>")
_V11: Final = _special_tokens("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]")
_DEEPSEEK_MENTION: Final = _between("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
_LIST_MENTION: Final = "Write [now()] to call a function, or [] for none."
_MISTRAL_MENTION: Final = "The mark [TOOL_CALLS] begins a call. [TOOL_CALLS] is one token."


_DEEPSEEK_V3: Final = Format(
    "deepseek-v3",
    "deepseek_v3",
    _deepseek("function<｜tool▁sep｜>NAME\n```json\n", "\n```", "\n"),
    _DEEPSEEK,
    closing="<｜tool▁call▁end｜>",
    mention=_DEEPSEEK_MENTION,
    end="<｜end▁of▁sentence｜>",
)
_GLM_45: Final = Format(
    "glm-4.5",
    "glm45",
    _glm("\n"),
    _GLM,
    closing="</tool_call>",
    mention=_TOOL_CALL,
    end="<|observation|>",
    has_json=False,
    between="\n",
)

FORMATS: Final = (
    Format(
        "hermes", "hermes", _hermes, _QWEN, closing="</tool_call>", mention=_TOOL_CALL, end="<|im_end|>", between="\n"
    ),
    Format(
        "qwen3-coder",
        "qwen3_coder",
        _qwen3_coder,
        _QWEN,
        closing="</tool_call>",
        mention=_TOOL_CALL,
        end="<|im_end|>",
        has_json=False,
        between="\n",
    ),
    Format(
        "llama3",
        "llama3_json",
        _llama3,
        _special_tokens("<|python_tag|>"),
        closing='"}}; {"name": "now"',
        mention="The mark <|python_tag|> begins code.",
        end="<|eot_id|>",
        has_text=False,
    ),
    Format(
        "mistral",
        "mistral",
        _mistral,
        _special_tokens("[TOOL_CALLS]"),
        closing='"}]',
        mention=_MISTRAL_MENTION,
        end="</s>",
    ),
    Format(
        "mistral-v11",
        "mistral",
        _mistral_v11,
        _V11,
        closing="[ARGS]",
        mention=_MISTRAL_MENTION,
        end="</s>",
        peer_gap="not measured: reads no `[CALL_ID]`",
    ),
    Format(
        "mistral-v13",
        "mistral",
        _mistral_v13,
        _special_tokens("[TOOL_CALLS]", "[ARGS]"),
        closing="[ARGS]",
        mention=_MISTRAL_MENTION,
        end="</s>",
    ),
    Format(
        "granite3",
        "granite",
        lambda calls: f"<|tool_call|>{_list(calls)}",
        _special_tokens("<|tool_call|>"),
        closing="}}]",
        mention="The mark <|tool_call|> begins calls. <|tool_call|> is one token.",
        end="<|end_of_text|>",
    ),
    Format(
        "phi4-mini-functools",
        "phi4_mini_json",
        lambda calls: f"functools{_list(calls)}",
        {},
        closing="}}]",
        mention="Python's functools module caches results: functools.cache does.",
        end="<|end|>",
        peer_streams=False,
    ),
    _DEEPSEEK_V3,
    replace(_DEEPSEEK_V3, name="deepseek-v3.1", peer="deepseek_v31", write=_deepseek("NAME<｜tool▁sep｜>", "", "")),
    Format(
        "gemma4",
        "gemma4",
        _gemma4,
        _special_tokens("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>"),
        closing="<tool_call|>",
        mention=_between("<|tool_call>", "<tool_call|>"),
        end="<turn|>",
        has_json=False,
    ),
    _GLM_45,
    replace(_GLM_45, name="glm-4.7", peer="glm47", write=_glm(""), between=""),
    Format(
        "kimi-k2",
        "kimi_k2",
        _kimi,
        _KIMI,
        closing="<|tool_call_end|>",
        mention=_between("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        end="<|im_end|>",
    ),
    Format(
        "olmo3",
        "olmo3",
        _olmo3,
        {},
        closing="</function_calls>",
        mention=_between("<function_calls>", "</function_calls>"),
        end="<|im_end|>",
        has_json=False,
        between="\n",
    ),
    Format(
        "llama4",
        "llama4_pythonic",
        lambda calls: f"<|python_start|>{_pythonic(calls)}<|python_end|>",
        _special_tokens("<|python_start|>", "<|python_end|>"),
        closing="<|python_end|>",
        mention=_LIST_MENTION,
        end="<|eot|>",
        has_json=False,
        has_text=False,
    ),
    Format(
        "pythonic",
        "pythonic",
        _pythonic,
        {},
        closing='")]',
        mention=_LIST_MENTION,
        end="<|eot|>",
        has_text=False,
        has_json=False,
    ),
    Format(
        "harmony",
        "openai",
        _harmony,
        _HARMONY,
        closing="<|call|>",
        mention=_between("<|channel|>", "<|call|>"),
        end="<|call|>",
        between="<|end|><|start|>assistant",
        before_text="<|channel|>final<|message|>",
        most_calls=1,
        marks_are_tokens_only=True,
        peer_gap="not measured: downloads the vocabulary of gpt-oss",
    ),
)
"""The compared formats. A format of vLLM with another syntax, such as JSON in Llama 4, repeats one of them."""
