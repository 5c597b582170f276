"""How one request wants its tokens chosen. Plain data: no torch, no tokenizer."""

from dataclasses import dataclass

from engine.grammar.form import AnswerForm


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Validated by `engine.processor`, which also resolves `seed`, `max_tokens`, `eos_token_ids` and `bad_word_ids`.

    Tokens are chosen from logits that are changed in this order: `logit_bias`, `repetition_penalty`,
    `frequency_penalty`, `presence_penalty`, what is not allowed, `temperature`, `top_k`, `top_p`, `min_p`.

    temperature: 0 means greedy (arg max, lowest id on ties); at most 2.
    top_p: nucleus mass in (0, 1]. top_k: 0 means off. min_p: tokens below this share of the likeliest one's probability
    are left out; 0 means off.
    repetition_penalty: 0.01 to 10; 1 means off. Divides the positive logits of tokens that the prompt or the answer
    has, and multiplies the negative ones.
    presence_penalty, frequency_penalty: -2 to 2; taken off the logits of tokens that the answer has, once, and as often
    as it has them.
    logit_bias: (id, bias) with each id once; -100 to 100. allowed_token_ids: no others; empty means all.
    bad_words: strings that the answer may not have; bad_word_ids: their tokens, resolved.
    seed: 64 bits. None on arrival; always set once processed, so that a run can be continued at any token.
    choice: number of this answer among those to one request. With the seed and a token's position it names the random
    number that the token is drawn with.
    stop: at most 16 non-empty strings; never part of the text, unless include_stop_str_in_output.
    stop_token_ids: ids that end the answer. eos_token_ids: the model's own, resolved; none with ignore_eos.
    max_tokens: None on arrival means "to the end of the window".
    min_tokens: no stop token is sampled, no stop string honoured, before that many tokens.
    form: what the answer must be; None: any text.
    logprobs: tell how likely each token was, and so many of the likeliest at its place; prompt_logprobs: the same of
    the prompt, which is computed anew for it, and kept for nobody. None: not asked for.
    skip_special_tokens: whether control tokens are left out of the text.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    allowed_token_ids: tuple[int, ...] = ()
    bad_words: tuple[str, ...] = ()
    bad_word_ids: tuple[tuple[int, ...], ...] = ()
    seed: int | None = None
    choice: int = 0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    eos_token_ids: tuple[int, ...] = ()
    include_stop_str_in_output: bool = False
    max_tokens: int | None = None
    min_tokens: int = 0
    ignore_eos: bool = False
    form: AnswerForm | None = None
    skip_special_tokens: bool = True
    logprobs: int | None = None
    prompt_logprobs: int | None = None

    @property
    def ending_ids(self) -> tuple[int, ...]:
        """Each of them ends the answer."""
        return self.eos_token_ids + self.stop_token_ids

    @property
    def has_penalties(self) -> bool:
        """Whether it matters which tokens there have been."""
        return self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0

    @property
    def has_bad_phrases(self) -> bool:
        """Whether what may not come next depends on the tokens just before."""
        return any(len(words) > 1 for words in self.bad_word_ids)
