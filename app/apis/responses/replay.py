"""Replay of a stored answer whose run is gone: a log with the deltas that the run would have sent token by token."""

from dataclasses import dataclass

from app.domain.records import Message
from app.domain.sampling_json import params_from_json
from app.domain.token_history import ID_BYTES, unpack_ids
from app.host.backend import Backend
from app.runs.run import error_of
from app.runs.run_log import RunLog
from engine.text.answer_text import AnswerFormat, EmittedText


@dataclass(frozen=True, slots=True)
class Replay:
    """A stored answer that can be followed like a run."""

    answer: Message
    log: RunLog

    @classmethod
    def of(cls, answer: Message, engine: Backend) -> "Replay":
        """Rebuild the log of `answer`, which has ended."""
        log = RunLog(answer.run_id or "", answer)
        for num_tokens, emitted in _deltas(answer, engine):
            log.append(emitted.text, num_tokens, is_thought=emitted.is_thought)
        log.close(answer, len(answer.tokens.ids) // ID_BYTES, error_of(answer))
        return cls(answer, log)


def _deltas(answer: Message, engine: Backend) -> list[tuple[int, EmittedText]]:
    """Return the deltas, each as the number of tokens so far and the text that the last of them completed.

    If the tokens do not yield the stored text under this tokenizer, the reasoning and the text are one delta each.
    """
    ids = unpack_ids(answer.tokens.ids)
    thinking = engine.chat_format.thinking
    # If the prompt opened the reasoning, the answer contains only the token that closes it.
    opened = thinking is not None and answer.reasoning and not thinking.begins(ids)
    answer_format = AnswerFormat.of(engine.tokenizer, engine.chat_format.tools, thinking)
    params = params_from_json(answer.params or {})
    reader = answer_format.begin(
        thinking.opening_ids if thinking is not None and opened else [],
        breaks_marks=params.is_read_for_calls,
        stop=params.stop,
    )
    deltas = [(count, emitted) for count, id_ in enumerate(ids, 1) if (emitted := reader.push(id_)).text]
    deltas += [(len(ids), rest)] if (rest := reader.finish()).text else []
    whole = [EmittedText(answer.reasoning or "", is_thought=True), EmittedText(answer.content)]
    if all(_joined(deltas, emitted) == emitted.text for emitted in whole):
        return deltas
    return [(len(ids) - number, emitted) for number, emitted in zip((1, 0), whole, strict=True) if emitted.text]


def _joined(deltas: list[tuple[int, EmittedText]], like: EmittedText) -> str:
    return "".join(emitted.text for _, emitted in deltas if emitted.is_thought == like.is_thought)
