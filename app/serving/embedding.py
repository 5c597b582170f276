"""One request of any API that embeds texts, from the texts to their vectors."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.requests import Request

from app.host.backend import Backend
from app.prompts.tokenization import LONG_TEXT, apart_if
from app.serving.prompts import text_ids
from app.serving.texts import Text, computed, vector_of
from app.tenants.gate import gate_of
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency

FEW_TEXTS: Final = 8
"""Texts whose vectors are scaled and written on the event loop. More of them would block it."""

PARAMS: Final = SamplingParams(temperature=0.0, pooling="auto")


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of length 1, one per text, and the number of tokens of all texts."""

    vectors: list["array[float]"]
    num_tokens: int

    @property
    def size(self) -> int:
        """Number of values of a vector; 0 without a text."""
        return len(self.vectors[0]) if self.vectors else 0

    def shortened(self, size: int) -> "Embedded":
        """Return the first `size` values of each vector, again with length 1."""
        if size == self.size:
            return self
        return Embedded([_scaled(vector[:size]) for vector in self.vectors], self.num_tokens)


NOTHING: Final = Embedded([], 0)


async def embed(
    request: Request,
    engine: Backend,
    texts: Sequence[Text],
    urgency: Urgency,
    *,
    cuts: bool = False,
    adapter: str = "",
) -> Embedded:
    """Embed `texts` under the tenant's limits. All are aborted if one fails, or if the client leaves.

    cuts: a text that is longer than the window is cut at its end. Otherwise such a text is refused.
    adapter: as in `GenerateRequest`.

    Raise the refusal of the engine or of the tenant's limits, with the path of the text, or the error of `failure_of`.
    """
    gate_of(request).check(engine)
    num_characters = sum(len(text.given) for text in texts)
    prompts = [await _ids(request, engine, text, num_characters) for text in texts]
    if cuts:
        prompts = [_cut(engine, ids) for ids in prompts]
    placed = [(ids, text.path) for ids, text in zip(prompts, texts, strict=True)]
    outputs = await computed(request, engine, placed, PARAMS, urgency, adapter=adapter)
    vectors = await apart_if(len(outputs) > FEW_TEXTS, lambda: list(map(unit_vector, outputs)))
    return Embedded(vectors, sum(map(len, prompts)))


def _cut(engine: Backend, ids: list[int]) -> list[int]:
    """Cut a text to the window. A control token at its end stays there: models are trained to put the meaning in it."""
    if len(ids) <= engine.max_model_len:
        return ids
    end = [] if engine.tokenizer.token_bytes(ids[-1]) else ids[-1:]
    return [*ids[: engine.max_model_len - len(end)], *end]


async def _ids(request: Request, engine: Backend, text: Text, num_characters: int) -> list[int]:
    """Return the token ids of one text. num_characters: the length of all texts together."""
    given = text.given
    if not isinstance(given, str):
        return given
    size = max(len(given), min(num_characters, LONG_TEXT))
    encode = partial(engine.tokenizer.encode_prompt, given)
    return await text_ids(request, engine, encode, size, param=text.path)


def unit_vector(output: RequestOutput) -> "array[float]":
    """Return the embedding of `output` with length 1, as float32. A vector of zeros stays as it is.

    Raise as `vector_of`.
    """
    return _scaled(vector_of(output))


def _scaled(values: "array[float]") -> "array[float]":
    length = math.hypot(*values)
    return array("f", [value / length for value in values]) if length else values
