"""One request of any API that scores documents by a query, from the texts to their scores.

A decoder computes one prompt for each document. Prompts with the same query begin alike, and their beginning is
computed once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import mul
from typing import Final

from starlette.requests import Request

from app.host.backend import Backend
from app.prompts.tokenization import LONG_TEXT, apart_if
from app.serving.embedding import FEW_TEXTS, embed
from app.serving.prompts import text_ids
from app.serving.texts import Text, computed, vector_of
from app.tenants.gate import gate_of
from engine.api.errors import InvalidRequestError, PromptTooLongError
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from engine.kv.block import common_prefix_len
from models.retrieval.pairs import pair_messages
from models.retrieval.score_head import LabelHead, ScoreHead
from models.thinking import ThinkingMode

_FIRST_CUT: Final = 8
"""Characters per token of the first piece of a text from which a document is cut."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A query, and a document to score by it. path: of the client's field that has the document."""

    query: str
    document: str
    path: str


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of pairs, in their order, and the number of tokens of all prompts."""

    scores: list[float]
    num_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingCall:
    """The engine and the settings of one client request.

    adapter: as in `GenerateRequest`.
    most_tokens: number of tokens to which a document is cut; None to refuse documents that are too long.
    """

    request: Request
    engine: Backend
    urgency: Urgency
    adapter: str = ""
    most_tokens: int | None = None

    async def score(self, pairs: Sequence[Pair]) -> Scored:
        """Score `pairs` under the tenant's limits. Pairs with the same query are adjacent.

        Raise InvalidRequestError that names `model` for a model that cannot rank, the refusal of the engine or of the
        tenant's limits, with the path of the document, or the error of `failure_of`.
        """
        uses = self.engine.retrieval
        if uses.head is None and not uses.has_embeddings:
            raise InvalidRequestError(self._why_not(), param="model")
        gate_of(self.request).check(self.engine)
        if self.most_tokens is not None:
            pairs = [replace(pair, document=await self._cut(pair, self.most_tokens)) for pair in pairs]
        if uses.head is not None:
            return await self._by_head(pairs, uses.head)
        return await self._by_embeddings(pairs)

    def _why_not(self) -> str:
        reason = self.engine.retrieval.refusal or (
            "its folder names neither a head for scores nor a pooling of embeddings. "
            "Name a reranker, or give the words of its judgement with --rerank-words"
        )
        return f"The model {self.engine.model_name!r} cannot rank documents: {reason}"

    async def _by_embeddings(self, pairs: Sequence[Pair]) -> Scored:
        """Score by the cosine of embeddings. Each text is embedded once."""
        paths = {pair.query: "query" for pair in pairs} | {pair.document: pair.path for pair in pairs}
        texts = [Text(text, path) for text, path in paths.items()]
        found = await embed(self.request, self.engine, texts, self.urgency, adapter=self.adapter)
        vectors = dict(zip(paths, found.vectors, strict=True))
        scores = [sum(map(mul, vectors[pair.query], vectors[pair.document])) for pair in pairs]
        return Scored(scores, found.num_tokens)

    async def _by_head(self, pairs: Sequence[Pair], head: ScoreHead | LabelHead) -> Scored:
        num_characters = sum(len(pair.query) + len(pair.document) for pair in pairs)
        prompts = [await self._prompt(pair, num_characters) for pair in pairs]
        outputs = await computed(
            self.request,
            self.engine,
            [(ids, pair.path) for ids, pair in zip(prompts, pairs, strict=True)],
            SamplingParams(temperature=0.0, pooling=head.pooling),
            self.urgency,
            adapter=self.adapter,
            prefixes=self._prefixes(pairs, prompts),
        )
        is_long = len(outputs) > FEW_TEXTS
        scores = await apart_if(is_long, lambda: [head.score(vector_of(output)) for output in outputs])
        return Scored(scores, sum(map(len, prompts)))

    async def _prompt(self, pair: Pair, num_characters: int) -> list[int]:
        """Return the prompt of one pair. num_characters: the length of all texts together."""
        engine = self.engine
        encode = partial(_pair_ids, engine, pair)
        size = max(len(pair.query) + len(pair.document), min(num_characters, LONG_TEXT))
        ids = await text_ids(self.request, engine, encode, size, param=pair.path)
        if len(ids) > engine.max_model_len:
            raise PromptTooLongError(
                f"{pair.path} is too long: with the query it has {len(ids)} tokens, and the window of the model "
                f"has {engine.max_model_len}. Shorten it, or have it cut with max_tokens_per_doc.",
                param=pair.path,
                num_tokens=len(ids),
                maximum=engine.max_model_len,
            )
        return ids

    def _prefixes(self, pairs: Sequence[Pair], prompts: Sequence[list[int]]) -> list[list[int]]:
        """Return the full blocks with which all prompts of a query begin, for queries with several documents."""
        cache, prefixes = self.engine.config.cache, list[list[int]]()
        numbered = enumerate(pairs)
        for _, group in groupby(numbered, key=lambda each: each[1].query):
            of_query = [prompts[at] for at, _ in group]
            first = of_query[0]
            shared = min((common_prefix_len(first, other) for other in of_query[1:]), default=0)
            # The last token of a prompt is always computed.
            if full := min(shared, len(first) - 1) // cache.block_size * cache.block_size:
                prefixes.append(first[:full])
        return prefixes if cache.prefix_cache else []

    async def _cut(self, pair: Pair, most: int) -> str:
        """Return the first `most` tokens of a document."""
        encode = partial(_cut_text, self.engine, pair.document, most)
        size = min(len(pair.document), most * _FIRST_CUT)
        return await text_ids(self.request, self.engine, encode, size, param=pair.path)


def _pair_ids(engine: Backend, pair: Pair) -> list[int]:
    """Return the prompt of a pair: two texts of an encoder, or the conversation in which a decoder judges."""
    uses = engine.retrieval
    if uses.frame is not None:
        texts = (engine.tokenizer.encode(text, special=False) for text in (pair.query, pair.document))
        return uses.frame.around(*texts)
    messages = pair_messages(pair.query, pair.document, has_roles=uses.has_roles)
    thinking = engine.chat_format.thinking
    mode: ThinkingMode | None = "off" if thinking is not None and "off" in thinking.modes else None
    return engine.chat_format.render(messages, thinking=mode)


def _cut_text(engine: Backend, text: str, most: int) -> str:
    """Return the beginning of `text` that has `most` tokens, from growing pieces: the whole may be very long."""
    tokenizer, size = engine.tokenizer, most * _FIRST_CUT
    while len(ids := tokenizer.encode(text[:size], special=False)) <= most:
        if size >= len(text):
            return text
        size *= 2
    cut = b"".join(map(tokenizer.token_bytes, ids[:most])).decode(errors="ignore")
    return cut.removeprefix(" ") if tokenizer.drops_first_space else cut
