"""Syntaxes of GigaChat 3: a JSON object in a separate message, and of GigaChat 3.1: after a control token."""

from dataclasses import replace

from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START = "<|function_call|>"
ROLE_END, MESSAGE_END = "<|role_sep|>", "<|message_sep|>"
ROLE = f"function call{ROLE_END}\n"
_BEFORE = f"{MESSAGE_END}\n\n"

GIGACHAT31 = JsonCalls(
    marks=CallMarks(starts=(START,), ends=(MESSAGE_END,)),
    texts=PromptTexts(
        instructions(
            f'To call one, answer with {START}{{{{"name": <function-name>, "arguments": <args-json-object>}}}}.'
        ),
        "tool",
        "{result}",
    ),
    before=f'{START}{{"name": "<NAME>", "arguments": ',
    after="}",
    is_single=True,
    words=(START,),
    call_words=(START,),
)
GIGACHAT3 = replace(
    GIGACHAT31,
    marks=CallMarks(starts=(ROLE,), frames=(_BEFORE,)),
    texts=PromptTexts(
        instructions(
            "To call one, continue with the role `function call` and "
            '{{"name": <function-name>, "arguments": <args-json-object>}}.'
        ),
        "tool",
        "{result}",
    ),
    before=f'{_BEFORE}{ROLE}{{"name": "<NAME>", "arguments": ',
    words=(ROLE_END, MESSAGE_END),
    call_words=(),
)
