"""Syntax of MiniCPM5: elements, whose values may be in CDATA."""

from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.element_reader import named_elements
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.tool_call_parser import CallMarks

CDATA = ("<![CDATA[", "]]>")

INSTRUCTIONS = instructions("""To call one, answer with
<function name="NAME"><param name="PARAMETER">value</param></function>
A value with <, & or several lines is between <![CDATA[ and ]]>.""")

_ELEMENTS = named_elements("function", "param", quote=CDATA)

MINICPM5 = ElementCalls(
    marks=CallMarks(starts=(_ELEMENTS.name_start,)),
    texts=PromptTexts(INSTRUCTIONS, "user", "<tool_response>\n{result}\n</tool_response>", on_own_line=True),
    elements=_ELEMENTS,
    before='<function name="<NAME>">',
    after=_ELEMENTS.end,
    before_value='<param name="<NAME>">',
    after_value=_ELEMENTS.field_end,
    between="\n",
)
