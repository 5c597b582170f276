"""Ebb's reading of answers: tokens become text as in the engine, and text becomes events as in the server."""

from collections.abc import Sequence
from dataclasses import replace

from bench.tool_calls.answers import WHOLE, Answer, Vocabulary
from bench.tool_calls.cases import TOOLS
from bench.tool_calls.formats import Format
from bench.tool_calls.outcome import Outcome, ReadCall
from engine.text.answer_text import AnswerFormat
from models.chat.call_syntax.registry import syntax_named
from models.chat.harmony_thinking import CHANNEL, find_harmony_thinking
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallStart, TextPiece
from models.chat.tool_format import ToolFormat
from models.tokenizers.tokenizer import Tokenizer

_PROMPT = "<|start|>assistant"


class EbbReader:
    """Reader of the answers of one format."""

    def __init__(self, how: Format, words: Vocabulary) -> None:
        tokenizer = Tokenizer(words.spec(), bos_token_id=None, eos_token_ids=(words.end_id,))
        self._format = ToolFormat(how.name, syntax_named(how.name), tokenizer.control_tokens, is_known=True)
        self._answers = AnswerFormat.of(tokenizer, self._format, find_harmony_thinking(CHANNEL, tokenizer))
        self._prompt = tokenizer.encode(_PROMPT, special=True)

    def read(self, answer: Answer, way: str) -> Outcome:
        """Read an answer that arrives in one of the ways, or whole."""
        if way != WHOLE:
            return self._read(answer, answer.arrivals[way])
        text = "".join(self._texts(answer.arrivals["one piece"]))
        parsed = self._format.parser(tools=TOOLS).whole(text, _cut_before(answer))
        return Outcome(parsed.text, [ReadCall(call.name, call.arguments) for call in parsed.calls])

    def _read(self, answer: Answer, arrival: Sequence[Sequence[int]]) -> Outcome:
        parser = self._format.parser(tools=TOOLS)
        text, calls = list[str](), list[ReadCall]()
        for number, piece in enumerate(self._texts(arrival)):
            _add(parser.push(piece), number, text, calls)
        _add(parser.finish(_cut_before(answer)), len(arrival), text, calls)
        return Outcome("".join(text), calls)

    def _texts(self, arrival: Sequence[Sequence[int]]) -> list[str]:
        """Return the text that each piece of an answer completes."""
        answer = self._answers.begin(self._prompt, breaks_marks=True)
        texts = ["".join(answer.push(id_).text for id_ in piece) for piece in arrival]
        while said := answer.finish().text:
            texts[-1] += said
        return texts


def _cut_before(answer: Answer) -> str | None:
    return "" if answer.case.cut_after else None


def _add(events: Sequence[AnswerEvent], number: int, text: list[str], calls: list[ReadCall]) -> None:
    for event in events:
        match event:
            case TextPiece(said):
                text.append(said)
            case CallStart(name):
                calls.append(ReadCall(name, "", number))
            case ArgumentsPiece(said):
                calls[-1] = replace(calls[-1], arguments=calls[-1].arguments + said)
