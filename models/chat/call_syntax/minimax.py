"""Syntaxes of MiniMax: JSON on lines in M1, elements in M2."""

from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.element_reader import named_elements
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

_LINES, _END_OF_LINES = "<tool_calls>", "</tool_calls>"
START, END = "<minimax:tool_call>", "</minimax:tool_call>"

MINIMAX_M1 = JsonCalls(
    marks=CallMarks(starts=(_LINES,), ends=(_END_OF_LINES,), further=("{",)),
    texts=PromptTexts(
        instructions(f"""To call some, answer with one call on each line:
{_LINES}
{{{{"name": <function-name>, "arguments": <args-json-object>}}}}
{_END_OF_LINES}"""),
        "tool",
        "{result}",
    ),
    before='{"name": "<NAME>", "arguments": ',
    after="}\n",
    opening=f"{_LINES}\n",
    closing=_END_OF_LINES,
    words=(_LINES, _END_OF_LINES),
    call_words=(_LINES, "{", '"name"'),
)

_INVOKE = instructions(f"""To call some, answer with
{START}
<invoke name="NAME">
<parameter name="PARAMETER">value</parameter>
</invoke>
{END}
with one part from <invoke> to </invoke> per call.""")

_ELEMENTS = named_elements("invoke", "parameter")

MINIMAX_M2 = ElementCalls(
    marks=CallMarks(
        starts=(_ELEMENTS.name_start,), ends=(END,), frames=(f"\n{START}", START), second=(_ELEMENTS.name_start,)
    ),
    texts=PromptTexts(_INVOKE, "tool", "{result}"),
    elements=_ELEMENTS,
    before='<invoke name="<NAME>">\n',
    after="</invoke>\n",
    before_value='<parameter name="<NAME>">',
    after_value="</parameter>\n",
    opening=f"\n{START}\n",
    closing=END,
    words=(START, END),
    call_words=(START, _ELEMENTS.name_start),
)
