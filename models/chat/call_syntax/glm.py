"""Syntaxes of GLM 4.5 to 4.7: an element for each key and each value."""

import re
from dataclasses import replace

from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.element_reader import Elements
from models.chat.call_syntax.interface import PromptTexts
from models.chat.tool_call_parser import CallMarks

START, END = "<tool_call>", "</tool_call>"
KEY, END_OF_KEY = "<arg_key>", "</arg_key>"
VALUE, END_OF_VALUE = "<arg_value>", "</arg_value>"

INSTRUCTIONS = """# Tools

You have access to these functions:
<tools>
{tools}
</tools>

To call one, answer with
<tool_call>NAME
<arg_key>PARAMETER</arg_key>
<arg_value>value</arg_value>
</tool_call>"""

_ELEMENTS = Elements(
    name_start="",
    name=re.compile(r"([^\s<>{}\"]+)\s*(?=<arg_key>|</tool_call>)"),
    mention=re.compile(r" [^\s<]+ </"),
    begun_name=re.compile(r"[^\s<>{}\"]*\s*(?:</?\w*)?"),
    field_start=KEY,
    field=re.compile(r"<arg_key>([^<]*)</arg_key>\s*<arg_value>"),
    field_end=END_OF_VALUE,
    end=END,
)

GLM45 = ElementCalls(
    marks=CallMarks(starts=(START,)),
    texts=PromptTexts(INSTRUCTIONS, "user", "<tool_response>\n{result}\n</tool_response>", on_own_line=True),
    elements=_ELEMENTS,
    before=f"{START}<NAME>\n",
    after=END,
    before_value=f"{KEY}<NAME>{END_OF_KEY}\n{VALUE}",
    after_value=f"{END_OF_VALUE}\n",
    between="\n",
    words=(START, END, KEY, END_OF_KEY, VALUE, END_OF_VALUE),
)
GLM47 = replace(
    GLM45,
    before=f"{START}<NAME>",
    before_value=f"{KEY}<NAME>{END_OF_KEY}{VALUE}",
    after_value=END_OF_VALUE,
    between="",
)
