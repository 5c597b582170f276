"""Syntax of Qwen3-Coder and Qwen3.5: an element for each parameter, on lines of its own."""

from models.call_syntax.element_calls import ElementCalls
from models.call_syntax.element_reader import FUNCTION, QWEN
from models.call_syntax.interface import PromptTexts
from models.tool_call_parser import CallMarks

START, END = "<tool_call>", "</tool_call>"

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

QWEN3_CODER = ElementCalls(
    # Models sometimes leave out the first mark, so the second one begins a call too.
    CallMarks((START, FUNCTION), (END,), second=(FUNCTION,)),
    PromptTexts(INSTRUCTIONS, "user", "<tool_response>\n{result}\n</tool_response>", on_own_line=True),
    QWEN,
    before=f"{START}\n<function=<NAME>>\n",
    after=f"</function>\n{END}",
    before_value="<parameter=<NAME>>\n",
    after_value="\n</parameter>\n",
    between="\n",
    words=(START, END),
    call_words=(START, FUNCTION),
)
