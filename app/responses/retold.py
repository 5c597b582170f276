"""The log of an answer whose run is forgotten, with the deltas that it would have had token by token."""

from dataclasses import dataclass

from app.backend import Backend
from app.records import Message
from app.run_log import RunLog
from app.runs import closing_event
from app.token_history import ID_BYTES, unpack_ids
from engine.answer_text import AnswerFormat


@dataclass(frozen=True, slots=True)
class Retold:
    """A stored answer, to be told like a run."""

    answer: Message
    log: RunLog

    @classmethod
    def of(cls, answer: Message, engine: Backend) -> "Retold":
        """`answer` has ended."""
        log = RunLog(answer.run_id or "", answer, {"message": answer.to_json()})
        for num_tokens, text in _deltas(answer, engine):
            log.append(text, num_tokens)
        log.close(*closing_event(answer), len(answer.tokens.ids) // ID_BYTES)
        return cls(answer, log)


def _deltas(answer: Message, engine: Backend) -> list[tuple[int, str]]:
    """(how many tokens the answer has then, what the last of them completed). In one piece where its tokens are not of
    this tokenizer."""
    ids = unpack_ids(answer.tokens.ids)
    tokenizer, thinking = engine.tokenizer, engine.chat_format.thinking
    # Where the prompt began the thought, the answer has only its end.
    opened = thinking is not None and answer.reasoning and thinking.start_id not in ids
    reader = AnswerFormat(tokenizer.token_bytes, tokenizer.drops_first_space, thinking).begin(
        [thinking.start_id] if thinking is not None and opened else []
    )
    said = [(count, reader.push(id_)) for count, id_ in enumerate(ids, 1)]
    deltas = [(count, piece.text) for count, piece in said if piece.text and not piece.is_thought]
    if "".join(text for _, text in deltas) == answer.content:
        return deltas
    return [(len(ids), answer.content)] if answer.content else []
