"""The log of an answer whose run is forgotten, with the deltas that it would have had token by token."""

from dataclasses import dataclass

from app.backend import Backend
from app.records import Message
from app.run_log import RunLog
from app.runs import closing_event
from app.token_history import ID_BYTES, unpack_ids
from engine.answer_text import AnswerFormat, Said


@dataclass(frozen=True, slots=True)
class Retold:
    """A stored answer, to be told like a run."""

    answer: Message
    log: RunLog

    @classmethod
    def of(cls, answer: Message, engine: Backend) -> "Retold":
        """`answer` has ended."""
        log = RunLog(answer.run_id or "", answer, {"message": answer.to_json()})
        for num_tokens, said in _deltas(answer, engine):
            log.append(said.text, num_tokens, is_thought=said.is_thought)
        log.close(*closing_event(answer), len(answer.tokens.ids) // ID_BYTES)
        return cls(answer, log)


def _deltas(answer: Message, engine: Backend) -> list[tuple[int, Said]]:
    """(how many tokens the answer has then, what the last of them completed). In one piece where its tokens are not of
    this tokenizer."""
    ids = unpack_ids(answer.tokens.ids)
    tokenizer, thinking = engine.tokenizer, engine.chat_format.thinking
    marks = engine.chat_format.tools.names_of_marks()
    # Where the prompt began the thought, the answer has only its end.
    opened = thinking is not None and answer.reasoning and thinking.start_id not in ids
    how = AnswerFormat(lambda id_: marks.get(id_) or tokenizer.token_bytes(id_), tokenizer.drops_first_space, thinking)
    reader = how.begin([thinking.start_id] if thinking is not None and opened else [])
    deltas = [(count, said) for count, id_ in enumerate(ids, 1) if (said := reader.push(id_)).text]
    whole = [Said(answer.reasoning or "", is_thought=True), Said(answer.content)]
    if all(_joined(deltas, said) == said.text for said in whole):
        return deltas
    return [(len(ids) - number, said) for number, said in zip((1, 0), whole, strict=True) if said.text]


def _joined(deltas: list[tuple[int, Said]], like: Said) -> str:
    return "".join(said.text for _, said in deltas if said.is_thought == like.is_thought)
