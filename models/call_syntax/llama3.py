"""Llama 3's syntax: a JSON object with "parameters" from the first character of an answer on."""

from models.call_reader import JsonCallReader
from models.call_syntax.interface import PromptTexts
from models.call_syntax.json_calls import JsonCalls
from models.tool_call_parser import CallMarks

CODE = "<|python_tag|>"

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call one, answer only with {{"name": <function-name>, "parameters": <args-json-object>}}."""

LLAMA3 = JsonCalls(
    CallMarks((CODE,), bare=("{",), separator=";"),
    PromptTexts(INSTRUCTIONS, "ipython", "{result}"),
    before='{"name": "<NAME>", "parameters": ',
    after="}",
    between="; ",
    words=(CODE,),
    make_reader=lambda mark: JsonCallReader(("parameters", "arguments"), is_bare=mark != CODE),
)
