"""How one request wants its tokens chosen. Plain data: no torch, no tokenizer."""

from dataclasses import dataclass

from engine.grammar.form import AnswerForm


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Validated by `engine.processor`, which also resolves `seed`, `max_tokens` and `stop_token_ids`.

    temperature: 0 means greedy (arg max, lowest id on ties); at most 2.
    top_p: nucleus mass in (0, 1]. top_k: 0 means off.
    seed: 64 bits. None on arrival; always set once processed, so that a run can be continued at any token.
    stop: at most 16 non-empty strings; never part of the text.
    stop_token_ids: ids that end the answer (the model's end-of-sequence ids); empty with `ignore_eos`.
    max_tokens: None on arrival means "to the end of the window".
    min_tokens: no stop token is sampled, no stop string honoured, before that many tokens.
    form: what the answer must be; None: any text.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    max_tokens: int | None = None
    min_tokens: int = 0
    ignore_eos: bool = False
    form: AnswerForm | None = None
