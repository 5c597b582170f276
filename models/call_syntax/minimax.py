"""Syntaxes of MiniMax: elements in M2."""

from models.call_syntax.element_calls import ElementCalls
from models.call_syntax.element_reader import named_elements
from models.call_syntax.interface import PromptTexts, instructions
from models.tool_call_parser import CallMarks

START, END = "<minimax:tool_call>", "</minimax:tool_call>"

INSTRUCTIONS = instructions(f"""To call some, answer with
{START}
<invoke name="NAME">
<parameter name="PARAMETER">value</parameter>
</invoke>
{END}
with one part from <invoke> to </invoke> per call.""")

_ELEMENTS = named_elements("invoke", "parameter")

MINIMAX_M2 = ElementCalls(
    CallMarks((_ELEMENTS.name_start,), (END,), frames=(f"\n{START}", START), second=(_ELEMENTS.name_start,)),
    PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    _ELEMENTS,
    before='<invoke name="<NAME>">\n',
    after="</invoke>\n",
    before_value='<parameter name="<NAME>">',
    after_value="</parameter>\n",
    opening=f"\n{START}\n",
    closing=END,
    words=(START, END),
    call_words=(START, _ELEMENTS.name_start),
)
