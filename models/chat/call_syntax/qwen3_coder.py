"""Syntaxes of Qwen3-Coder and Qwen3.5, with the values on separate lines, and of Seed-OSS, without."""

import re
from dataclasses import replace

from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.element_reader import Elements
from models.chat.call_syntax.interface import PromptTexts
from models.chat.tool_call_parser import CallMarks

START, END = "<tool_call>", "</tool_call>"
SEED_START, SEED_END = "<seed:tool_call>", "</seed:tool_call>"
_FUNCTION, _PARAMETER = "<function=", "<parameter="

INSTRUCTIONS = """# Tools

You have access to these functions:
<tools>
{tools}
</tools>

To call one, answer with
<tool_call>
<function=NAME>
<parameter=PARAMETER>
value
</parameter>
</function>
</tool_call>"""

_ON_LINES = Elements(
    name_start=_FUNCTION,
    name=re.compile(r"([^>\n]*[^>\s][^>\n]*)>"),
    begun_name=re.compile(r"[^>\n]*"),
    field_start=_PARAMETER,
    field=re.compile(rf"{_PARAMETER}([^>]*)>"),
    field_end="</parameter>",
    end="</function>",
    has_lines=True,
)

QWEN3_CODER = ElementCalls(
    # Models sometimes leave out the first mark, so the second one begins a call too.
    marks=CallMarks(starts=(START, _FUNCTION), ends=(END,), second=(_FUNCTION,)),
    texts=PromptTexts(INSTRUCTIONS, "user", "<tool_response>\n{result}\n</tool_response>", on_own_line=True),
    elements=_ON_LINES,
    before=f"{START}\n<function=<NAME>>\n",
    after=f"</function>\n{END}",
    before_value="<parameter=<NAME>>\n",
    after_value="\n</parameter>\n",
    between="\n",
    words=(START, END),
    call_words=(START, _FUNCTION),
)
SEED_OSS = replace(
    QWEN3_CODER,
    marks=CallMarks(starts=(SEED_START, _FUNCTION), ends=(SEED_END,), second=(_FUNCTION,)),
    texts=PromptTexts(
        INSTRUCTIONS.replace(START, SEED_START).replace(END, SEED_END).replace("\nvalue\n", "value"), "tool", "{result}"
    ),
    elements=replace(_ON_LINES, has_lines=False),
    before=f"{SEED_START}\n<function=<NAME>>\n",
    after=f"</function>\n{SEED_END}",
    before_value="<parameter=<NAME>>",
    after_value="</parameter>\n",
    words=(SEED_START, SEED_END),
    call_words=(SEED_START, _FUNCTION),
)
