"""Syntax of Apertus: a JSON list between two control tokens, of objects from the name to the arguments."""

from models.chat.call_reader import JsonCallReader
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START, END = "<|tools_prefix|>", "<|tools_suffix|>"

APERTUS = JsonCalls(
    marks=CallMarks(starts=(START,), ends=(END,)),
    texts=PromptTexts(
        instructions(
            "To call some, answer with a JSON list of {{<function-name>: <args-json-object>}} between "
            f"{START} and {END}."
        ),
        "tool",
        "{result}",
    ),
    before='{"<NAME>": ',
    after="}",
    opening=f"{START}[",
    closing=f"]{END}",
    between=", ",
    words=(START, END),
    call_words=(START,),
    make_reader=lambda _: JsonCallReader(name=None),
)
