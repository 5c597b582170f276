"""The log of an answer whose run is forgotten, with the deltas that it would have had token by token."""

from dataclasses import dataclass

from app.backend import TextTokenizer
from app.records import Message
from app.run_log import RunLog
from app.runs import closing_event
from app.token_history import ID_BYTES, unpack_ids
from engine.detokenizer import Detokenizer


@dataclass(frozen=True, slots=True)
class Retold:
    """A stored answer, to be told like a run."""

    answer: Message
    log: RunLog

    @classmethod
    def of(cls, answer: Message, tokenizer: TextTokenizer) -> "Retold":
        """`answer` has ended."""
        log = RunLog(answer.run_id or "", answer, {"message": answer.to_json()})
        for num_tokens, text in _deltas(answer, tokenizer):
            log.append(text, num_tokens)
        log.close(*closing_event(answer), len(answer.tokens.ids) // ID_BYTES)
        return cls(answer, log)


def _deltas(answer: Message, tokenizer: TextTokenizer) -> list[tuple[int, str]]:
    """(how many tokens the answer has then, what the last of them completed). In one piece where its tokens are not of
    this tokenizer."""
    ids = unpack_ids(answer.tokens.ids)
    detokenizer = Detokenizer(tokenizer.token_bytes)
    deltas = [(count, text) for count, id_ in enumerate(ids, 1) if (text := detokenizer.push(id_))]
    if "".join(text for _, text in deltas) == answer.content:
        return deltas
    return [(len(ids), answer.content)] if answer.content else []
