"""Syntax of Cohere's Command models: a JSON list of numbered calls between two control tokens."""

from models.chat.call_reader import JsonCallReader
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START, END = "<|START_ACTION|>", "<|END_ACTION|>"

COHERE = JsonCalls(
    marks=CallMarks(starts=(START,), ends=(END,)),
    texts=PromptTexts(
        instructions(
            'To call some, answer with a JSON list of {{"tool_call_id": "<number>", "tool_name": <function-name>, '
            f'"parameters": <args-json-object>}}}} between {START} and {END}.'
        ),
        "tool",
        "{result}",
    ),
    before='\n    {"tool_call_id": "<NUMBER>", "tool_name": "<NAME>", "parameters": ',
    after="}",
    opening=f"{START}[",
    closing=f"\n]{END}",
    between=",",
    words=(START, END),
    call_words=(START,),
    make_reader=lambda _: JsonCallReader(("parameters",), name="tool_name"),
)
