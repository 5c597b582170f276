"""Llama 3's syntax: a JSON object with "parameters" from the first character of an answer on.

After a python tag, a call may also be written as the built-in tools are called: name.call(query="text").
"""

from typing import Final

from models.chat.call_reader import JsonCallReader
from models.chat.call_syntax.interface import PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.call_syntax.json_or_other_reader import JsonOrOtherReader
from models.chat.call_syntax.python_reader import PythonReader
from models.chat.tool_call_parser import CallMarks, CallReader

CODE: Final = "<|python_tag|>"
PARAMETERS: Final = ("parameters", "arguments")
"""Names of the field with the arguments of a call in JSON."""
_METHOD: Final = ".call"

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call one, answer only with {{"name": <function-name>, "parameters": <args-json-object>}}."""


def _reader_after(mark: str) -> CallReader:
    json = JsonCallReader(PARAMETERS, is_bare=mark != CODE)
    return JsonOrOtherReader(json, PythonReader(_METHOD), "{[") if mark == CODE else json


LLAMA3 = JsonCalls(
    marks=CallMarks(starts=(CODE,), bare=("{",), separator=";"),
    texts=PromptTexts(INSTRUCTIONS, "ipython", "{result}"),
    before='{"name": "<NAME>", "parameters": ',
    after="}",
    between="; ",
    words=(CODE,),
    make_reader=_reader_after,
)
