"""Syntaxes of DeepSeek V3.2 and V4: elements, which say of each value whether it is a text."""

from dataclasses import replace

from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.element_reader import named_elements
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.tool_call_parser import CallMarks

WORD = "｜DSML｜"
V32, V4 = "function_calls", "tool_calls"
"""Names of the elements around all calls."""

INSTRUCTIONS = instructions(f"""To call some, answer with
<{WORD}{V32}>
<{WORD}invoke name="NAME">
<{WORD}parameter name="PARAMETER" string="true|false">value</{WORD}parameter>
</{WORD}invoke>
</{WORD}{V32}>
A value with string="true" is a text without quotes. Any other value is JSON.""")

_ELEMENTS = named_elements(f"{WORD}invoke", f"{WORD}parameter", r'(?:\s+string="(?P<is_text>true|false)")?')
_STARTS, _ENDS = ((f"<{slash}{WORD}{V32}>", f"<{slash}{WORD}{V4}>") for slash in ("", "/"))

DEEPSEEK_V32 = ElementCalls(
    marks=CallMarks(
        starts=(_ELEMENTS.name_start,), ends=_ENDS, frames=(*(f"\n\n{start}" for start in _STARTS), *_STARTS)
    ),
    texts=PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    elements=_ELEMENTS,
    before=f'<{WORD}invoke name="<NAME>">\n',
    after=f"</{WORD}invoke>\n",
    before_value=f'<{WORD}parameter name="<NAME>" string="<IS_TEXT>">',
    after_value=f"</{WORD}parameter>\n",
    opening=f"\n\n{_STARTS[0]}\n",
    closing=_ENDS[0],
    words=(WORD,),
    call_words=(_STARTS[0],),
)
DEEPSEEK_V4 = replace(
    DEEPSEEK_V32,
    texts=PromptTexts(INSTRUCTIONS.replace(V32, V4), "tool", "{result}"),
    opening=f"\n\n{_STARTS[1]}\n",
    closing=_ENDS[1],
    call_words=(_STARTS[1],),
)
