"""Answers whose calls are parsed off the event loop."""

from app.domain.records import Message
from app.domain.tool_use import MayCall
from app.prompts.tokenization import LONG_TEXT, apart_if


async def parse_apart(answer: Message) -> Message:
    """Parse the calls of `answer` in a thread if it is long, and return it. `parsed` then costs nothing.

    An answer from the store is parsed already, but the answer of a run is not.
    """
    is_long = isinstance(answer.tool_use, MayCall) and len(answer.content) >= LONG_TEXT
    await apart_if(is_long, lambda: answer.parsed)
    return answer
