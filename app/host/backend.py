"""Interface of the engine that the routes depend on, implemented by `engine.loop.async_llm.AsyncLLMEngine`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import TierId
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.promise import PromiseReport, PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.api.stored_tokens import AnsweredText, Trail
from engine.config import EngineConfig
from engine.loop.stats import EngineStats
from models.adapters.adapter import Adapter
from models.chat.format import Message
from models.chat.tool_format import ToolFormat
from models.retrieval.folder import Retrieval
from models.thinking import Thinking, ThinkingMode


class TextTokenizer(Protocol):
    """Tokenizer of text."""

    @property
    def vocab_size(self) -> int:
        """Number of ids that have a token."""

    @property
    def drops_first_space(self) -> bool:
        """Whether a leading space is dropped from text that follows a control token."""

    @property
    def longest_text(self) -> int:
        """Number of characters above which `encode` raises TextTooLongError for any text."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the ids of `text`. With `special`, the name of a control token becomes that token.

        Raise TextTooLongError for a text of far more tokens than the context window has.
        """

    def describe(self, ids: Sequence[int]) -> str:
        """Render `ids` as text for people: control tokens by name, incomplete characters as U+FFFD."""

    def token_bytes(self, id_: int) -> bytes:
        """Return the UTF-8 bytes that a token adds to the text: b"" for control tokens."""

    def encode_prompt(self, text: str) -> list[int]:
        """Return the ids of a raw prompt, with the tokens that the model expects around it. Raise TextTooLongError."""


class PromptFormat(Protocol):
    """Chat template: messages to token ids. All methods raise ModelError if the template refuses the messages."""

    @property
    def thinking(self) -> Thinking | None:
        """Format of the reasoning before an answer; None if the model does not reason."""

    @property
    def tools(self) -> ToolFormat:
        """Format of the model's tool calls."""

    @property
    def tokenizer_info(self) -> Mapping[str, Any]:
        """Description of the tokenizer and the template for clients, with vLLM's fields."""

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        """Return the ids of the whole prompt, up to the start of the answer.

        thinking: a mode that the model supports; None leaves it to the model.
        """

    def extend(
        self,
        prior_ids: Sequence[int],
        messages: Sequence[Message],
        *,
        num_new: int = 1,
        thinking: ThinkingMode | None = None,
    ) -> list[int]:
        """Return the ids that follow `prior_ids`, which end with an answer, to add the last `num_new` of `messages`."""

    def next_prefix(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids with which the next prompt begins, whatever its question will be."""


class GenerationStream(Protocol):
    """Outputs of one request. Unread outputs are merged."""

    @property
    def request_id(self) -> str:
        """Id to pass to `abort`."""

    @property
    def params(self) -> SamplingParams:
        """Resolved parameters: seed and max_tokens are set."""

    @property
    def text_before(self) -> str:
        """Text of the answer's tokens that the request came with; empty if there were none."""

    @property
    def reasoning_before(self) -> str:
        """Reasoning in the answer's tokens that the request came with; empty if there was none."""

    def __aiter__(self) -> AsyncIterator[RequestOutput]:
        """Iterate over the outputs. The output with a finish_reason is the last."""

    def set_listener(self, on_output: Callable[[RequestOutput], bool]) -> None:
        """Offer unread output, and from then on each new output, to `on_output`, which returns whether it takes it.

        Nothing is offered while a reader has unread output. `on_output` must not block. If it raises, only this stream
        ends, with an error.
        """


class PrefixTiers(Protocol):
    """Cached KV of prompts that have not been sent yet, in all tiers."""

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """Add the prefetch hint `name`: a prompt that begins with these tokens may come soon.

        Prefetches the blocks that only lower tiers have into host memory, if there is room. A second hint of the same
        name replaces the first. Returns whether any block is prefetched.
        """

    def leave(self, name: str) -> None:
        """Cancel the prefetch hint `name`."""

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[TierId | None]:
        """Return, for each prefix, the lowest tier that a prompt continuing it must read from.

        None means that the KV of the prefix's end is in no tier.
        """

    async def promise(
        self, token_ids: Sequence[int], wanted: PromiseRequest, *, tenant: str, patience: float
    ) -> PromiseReport:
        """Have the disk keep the stored blocks of a prompt that begins with these tokens. No block is computed.

        patience: seconds to wait for blocks that are on their way to the disk.
        """

    async def release(self, token_ids: Sequence[int], *, num_shared: int, tenant: str) -> bool:
        """End the promises of a prompt's blocks, except for those of its first `num_shared` tokens.

        Return False if the disk is away. The promises then end with their time.
        """

    async def recall(self, text: AnsweredText, *, tenant: str) -> None:
        """Have drafts guess what the answers of a stored conversation repeat, which an earlier process computed."""


class Backend(Protocol):
    """A running engine. Call all methods from the event loop's thread."""

    @property
    def model_name(self) -> str:
        """Name by which clients request the model."""

    @property
    def adapters(self) -> Mapping[str, Adapter]:
        """The adapters that requests may name, by name."""

    async def load_adapter(self, name: str, *, in_place: bool) -> Adapter:
        """Read an adapter of the configured folder, which requests may name from now on.

        in_place: whether it may replace one of the same name. Requests that run keep theirs.

        Raise InvalidRequestError with the field, NotFoundError, ConflictError, or NotReadyError while workers restart.
        """

    async def unload_adapter(self, name: str) -> None:
        """Refuse further requests for an adapter. Requests that run end as they would.

        Raise NotFoundError if it is not loaded, or ConflictError.
        """

    @property
    def kv_fingerprint(self) -> str:
        """Identity of the model and of everything else that may change a bit of the computed KV."""

    @property
    def max_model_len(self) -> int:
        """Maximum number of tokens of a prompt and its answer together."""

    @property
    def config(self) -> EngineConfig:
        """Configuration that the engine was built from."""

    @property
    def is_resident(self) -> bool:
        """Whether the weights are in memory. Work of idle time waits while they are not."""

    @property
    def prefixes(self) -> PrefixTiers:
        """Prefetch and look-up of prompts that have not been sent yet."""

    @property
    def tier_notes(self) -> Mapping[TierId, str]:
        """For each tier below CPU memory, one sentence on why it is off; empty when it is on."""

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's tokenizer."""

    @property
    def chat_format(self) -> PromptFormat:
        """The model's chat template."""

    @property
    def sampling_defaults(self) -> Mapping[str, float]:
        """Sampling recommended by the model's makers: some of temperature, top_p and top_k."""

    @property
    def retrieval(self) -> Retrieval:
        """Uses of the model's vectors: sizes of embeddings, and the ranking of documents."""

    async def generate(self, request: GenerateRequest) -> Sequence[GenerationStream]:
        """Queue a request, and return a stream for each of its answers. All are queued, or none.

        Nothing stays queued if the call is cancelled. Raise an EbbError if the request is refused.
        """

    def abort(self, request_id: str) -> None:
        """End a request. The stream gets a last output with the finish_reason "abort"."""

    def tenant_salt(self, tenant: str) -> bytes:
        """Return the tenant's 32 secret bytes. Deleting the tenant replaces them."""

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended."""

    async def delete_tenant(self, tenant: str) -> None:
        """End the tenant's requests and make its KV unreachable in every tier.

        Raise EngineError if the deletion cannot be made durable.
        """

    def deletions_of(self, tenant: str) -> int:
        """Return how often the tenant was deleted. The tenant's salt follows from it."""

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        """Follow a deletion that another server has made durable, the last of so many."""

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str) -> list[BlockKey]:
        """Return the keys of the blocks that only these trails of a tenant use."""

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        """Erase blocks from all tiers, and wait until that is done.

        again: leave the blocks that requests used since the last attempt, since other chats have them by now.

        Return False if it could not be done everywhere: a tier or a replica is away, or refuses it. The caller repeats
        the erasure then.
        """

    def stats(self) -> EngineStats:
        """Return a snapshot of the statistics. Cheap."""

    def drain_replica(self, index: int) -> None:
        """Have the other replicas continue the answers of one, which then restarts.

        Raise NotFoundError, or ConflictError if the replica does not serve now, or no other does.
        """

    @property
    def is_broken(self) -> bool:
        """Whether the engine has failed for good and serves no more requests."""

    @property
    def gave_up(self) -> asyncio.Event:
        """Event that is set when the engine has failed for good.

        By then the streams have ended with "abort". The process should hand its runs over as at SIGTERM, and exit
        with a status other than 0.
        """

    @property
    def why_gave_up(self) -> str:
        """Reason of the failure, in a sentence; empty while `gave_up` is not set."""

    async def start(self) -> None:
        """Begin to serve."""

    async def stop(self, drain_seconds: float) -> None:
        """Refuse new requests, let running ones end within `drain_seconds`, abort the rest, flush the tiers."""
