"""Conversion of prompt ids and parameters to a Request, or a clear refusal before any work starts."""

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from cache_tiers.owners.block_key import BlockKey, KeyNamespace, owner_of, unfindable_root
from cache_tiers.owners.owners import Owners
from engine.api.errors import InvalidRequestError, PromptTooLongError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import Pooling, SamplingParams, check_sampling, check_something_may_come
from engine.api.stored_tokens import Trail
from engine.api.urgency import Urgency
from engine.intake.adapter_use import named_adapter, use_of
from engine.intake.prefix_keys import PrefixKeys, TenantSalts
from engine.request.request import Request
from engine.request.scheduler_output import AdapterUse
from engine.request.timeline import Phase
from engine.sampling.guarded_mask import GuardedMask
from engine.sampling.token_mask import TokenMask
from engine.scheduling.queue.policy import QueuePolicy
from models.adapters.adapter import Adapter


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Limits of the model and of the server's memory.

    window: tokens of prompt and answer together.
    pool_tokens: tokens that fit in the device's block pool.
    answer: tokens of an answer whose client sets no limit; 0 means as many as fit.
    """

    vocab_size: int
    window: int
    pool_tokens: int
    block_size: int
    eos_token_ids: tuple[int, ...]
    answer: int = 0

    @property
    def usable_window(self) -> int:
        """Tokens of the longest prompt and answer that this server can compute."""
        return min(self.window, self.pool_tokens)


MAX_PREPARED = 8
"""Maximum number of prepared long prompts that are kept for `process`."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A prompt that has been checked, with the keys of its full blocks after `root`."""

    prompt: tuple[int, ...]
    root: BlockKey
    keys: list[BlockKey]


class Processor:
    """Converter of prompts to requests, with one namespace of block keys per tenant.

    namespace: complete except for the tenant's salt.
    salts: salts of the tenants.
    prefix_cache: False gives requests no block keys, so that nothing is reused.
    public: token ids. Prompts that begin with all of them share their full blocks with every tenant.
    owners: learns which tenant the keys of a request belong to.
    adapters: the adapters that requests may name.
    queue_timeout: seconds within which a request must first be scheduled.
    pooling: the server's way to make an embedding.
    answers: whether the model has an output matrix, so that it can answer.
    encode: tokenizes plain text, for `bad_words`.
    make_mask: creates the mask of a request from its parameters, prompt and tenant; None if its answer needs no form.
        May raise InvalidRequestError.
    """

    def __init__(
        self,
        limits: ModelLimits,
        namespace: KeyNamespace,
        salts: TenantSalts,
        *,
        prefix_cache: bool,
        public: Sequence[int] = (),
        owners: Owners | None = None,
        adapters: Sequence[Adapter] = (),
        clock: Callable[[], float],
        queue_policy: QueuePolicy = "fair",
        queue_timeout: float = inf,
        pooling: Pooling = "mean",
        answers: bool = True,
        encode: Callable[[str], Sequence[int]] = lambda _: (),
        make_mask: Callable[[SamplingParams, Sequence[int], str], TokenMask | None] = lambda *_: None,
    ) -> None:
        self.limits = limits
        self.salts = salts
        self.adapters = {each.name: each for each in adapters}
        self.keys = PrefixKeys(namespace, salts, public if prefix_cache else (), owners, adapters)
        self._prefix_cache = prefix_cache
        self._clock = clock
        self._queue_policy = queue_policy
        self._queue_timeout = queue_timeout
        self._pooling = pooling
        self._answers = answers
        self._encode = encode
        self._make_mask = make_mask
        self._prepared = deque[_Prepared](maxlen=MAX_PREPARED)

    @property
    def model_fingerprint(self) -> str:
        """Identifier of the weights."""
        return self.keys.namespace.model_fingerprint

    @property
    def kv_fingerprint(self) -> str:
        """Identifier of everything that may change a bit of the KV: model, numerics, dtype, layout."""
        return self.keys.namespace.fingerprint().hex()

    def add_adapter(self, adapter: Adapter) -> None:
        """Let requests name an adapter, instead of a former one of its name."""
        self.adapters[adapter.name] = adapter
        self.keys.add_adapter(adapter)

    def remove_adapter(self, name: str) -> None:
        """Refuse further requests for an adapter."""
        del self.adapters[name]

    def process(self, request_id: str, request: GenerateRequest) -> Request:
        """Check a prompt and its parameters, and create the scheduler's request under the unique `request_id`.

        Raise InvalidRequestError with the field: "prompt", "max_tokens", "temperature", "priority", ...
        """
        params, urgency = request.params, request.urgency
        self._check_answers(params)
        adapter, use, prompt = self._adapted(request)
        num_virtual = use.num_virtual if use is not None else 0
        prepared = self._prepared_for(prompt)
        if prepared is None:
            self._check_prompt(prompt, num_virtual, is_all=params.pooling is not None)
        self._check_ids(request.produced)
        check_sampling(params, self.limits.vocab_size)
        self._check_urgency(urgency)
        sampling = self._resolve(params, len(prompt))
        check_something_may_come(sampling)
        public, root = self.keys.start(prompt, request.tenant, adapter, use.first if use is not None else None)
        # An embedding reads what other requests cached, but its own text is rarely sent again.
        keeps_kv = request.keep_kv and params.pooling is None
        if params.prompt_logprobs is not None or sampling.pooling == "mean":
            # Log probabilities and a mean require computing every prompt token, so no cached block can serve.
            public, root, keeps_kv = None, unfindable_root(owner_of(root)), False
        keys: list[BlockKey] = []
        if self._prefix_cache:
            known = prepared.keys if prepared is not None and prepared.root == root else []
            keys = self.keys.extend(root, public, (*prompt, *request.produced), known)
        now = self._clock()
        created = Request(
            request_id=request_id,
            tenant=request.tenant,
            prompt_token_ids=prompt,
            sampling=sampling,
            root_key=root,
            block_keys=keys,
            arrival=now,
            adapter=use,
            priority=urgency.priority,
            deadline=now + urgency.timeout if urgency.timeout is not None else inf,
            start_by=now + self._queue_timeout,
            public=public,
            num_marked=request.num_marked and num_virtual + request.num_marked,
            promise=request.promise and replace(request.promise, num_tokens=num_virtual + request.promise.num_tokens),
            moves_at=len(request.produced) + 1 if request.hands_over else None,
            keeps_kv=keeps_kv,
            is_stored=request.is_stored,
            mask=self._mask(sampling, prompt[num_virtual:], request.tenant),
            on_place=request.on_place,
        )
        for token_id in request.produced:
            created.append_token(token_id)
        return created

    def prepare(self, request: GenerateRequest) -> None:
        """Check a long prompt and hash its blocks, on any thread, so that the next `process` does not have to.

        Raise InvalidRequestError.
        """
        adapter, use, prompt = self._adapted(request)
        num_virtual = use.num_virtual if use is not None else 0
        self._check_prompt(prompt, num_virtual, is_all=request.params.pooling is not None)
        public, root = self.keys.start(prompt, request.tenant, adapter, use.first if use is not None else None)
        self._prepared.append(_Prepared(prompt, root, self.keys.extend(root, public, prompt)))

    def _adapted(self, request: GenerateRequest) -> tuple[Adapter | None, AdapterUse | None, tuple[int, ...]]:
        """Return the adapter of a request, what it changes, and the prompt with its virtual tokens.

        The adapter is looked up once: another thread may give its name to another one. Raise as `named_adapter`.
        """
        prompt = tuple(request.prompt_token_ids)
        if not request.adapter:
            return None, None, prompt
        adapter = named_adapter(request, self.adapters)
        return adapter, use_of(adapter, prompt), adapter.lead(prompt)

    def fork(self, first: Request, request_id: str, choice: int) -> Request:
        """Create a request for answer number `choice` to the prompt of `first`, which is number 0."""
        return first.fork(request_id, choice, self._mask(first.sampling, first.text_token_ids, first.tenant))

    def renew(self, request: Request, num_produced: int) -> Request:
        """Create a request that continues `request` after its first `num_produced` tokens.

        Blocks, counts and mask of `request` are in doubt and are made again. Tokens, parameters and measurements are
        kept. Raise InvalidRequestError if the mask cannot be made again.
        """
        prompt, produced = request.prompt_token_ids, request.output_token_ids[:num_produced]
        keys = self.keys.extend(request.root_key, request.public, (*prompt, *produced)) if self._prefix_cache else []
        renewed = request.renewed(keys, self._mask(request.sampling, request.text_token_ids, request.tenant))
        for token_id in produced:
            renewed.append_token(token_id)
        renewed.timeline.enter(Phase.QUEUE, self._clock())
        return renewed

    def _mask(self, sampling: SamplingParams, prompt: Sequence[int], tenant: str) -> TokenMask | None:
        mask = self._make_mask(sampling, prompt, tenant) if sampling.max_tokens else None
        return GuardedMask(mask, sampling.eos_token_ids) if mask is not None else None

    @property
    def has_prefixes(self) -> bool:
        """Whether requests may reuse the blocks of others."""
        return self._prefix_cache

    def keys_of_prefix(self, token_ids: Sequence[int], tenant: str) -> list[BlockKey]:
        """Return the keys of the full blocks of a prompt that begins with these tokens. This has no side effects."""
        if not self._prefix_cache:
            return []
        return self.keys.of(token_ids, tenant)

    def keys_of_chain(self, token_ids: Sequence[int], tenant: str) -> list[BlockKey]:
        """Return the keys of all blocks of these tokens, including a partly filled last one. No side effects."""
        if not self._prefix_cache:
            return []
        return self.keys.of_trail(Trail(token_ids, ends=(len(token_ids),)), *self.keys.start(token_ids, tenant))

    def _prepared_for(self, prompt: tuple[int, ...]) -> _Prepared | None:
        # Another thread may append during the search, hence the copy.
        candidates = (each for each in list(self._prepared) if len(each.prompt) == len(prompt))
        return next((each for each in candidates if each.prompt == prompt), None)

    def _check_urgency(self, urgency: Urgency) -> None:
        if urgency.timeout is not None and not urgency.timeout > 0:
            raise InvalidRequestError("timeout must be above 0 seconds", param="timeout")
        if urgency.priority and self._queue_policy == "fcfs":
            raise InvalidRequestError(
                "priority must be 0: this server runs requests in order of arrival (--queue-policy)",
                param="priority",
            )

    def _check_answers(self, params: SamplingParams) -> None:
        """Raise InvalidRequestError for an answer of a model that gives none. A prompt may be computed alone."""
        if not self._answers and params.pooling is None and params.max_tokens != 0:
            raise InvalidRequestError(
                "this model gives no answers: it is for embeddings or for rerank requests alone. Name another model",
                param="model",
            )

    def _check_prompt(self, prompt: tuple[int, ...], num_virtual: int, *, is_all: bool) -> None:
        """Raise InvalidRequestError for a prompt that has no room.

        num_virtual: number of its first tokens that are those of an adapter. is_all: no answer follows it.
        """
        if len(prompt) == num_virtual:
            raise InvalidRequestError("the prompt is empty", param="prompt")
        self._check_ids(prompt[num_virtual:])
        tokens = f"{len(prompt)} tokens"
        if num_virtual:
            tokens += f", {num_virtual} of which are virtual tokens of the adapter"
        least = len(prompt) if is_all else len(prompt) + 1
        if least > self.limits.window:
            whole = "" if is_all else " for prompt and answer together"
            raise PromptTooLongError(
                f"This model's maximum context length is {self.limits.window} tokens{whole}. "
                f"However, the prompt has {tokens}. Shorten it.",
                param="prompt",
                num_tokens=len(prompt),
                maximum=self.limits.window,
            )
        if least > self.limits.pool_tokens:
            raise PromptTooLongError(
                f"The KV memory of this server holds {self.limits.pool_tokens} tokens. However, the prompt has "
                f"{tokens}. Shorten it or raise --kv-memory.",
                param="prompt",
                num_tokens=len(prompt),
                maximum=self.limits.pool_tokens,
            )

    def _check_ids(self, token_ids: Sequence[int]) -> None:
        if token_ids and (min(token_ids) < 0 or max(token_ids) >= self.limits.vocab_size):
            raise InvalidRequestError(
                f"the prompt contains token ids outside the vocabulary [0, {self.limits.vocab_size})", param="prompt"
            )

    def _resolve(self, params: SamplingParams, prompt_len: int) -> SamplingParams:
        """Set the parameters that the request leaves open. Clients send a large `max_tokens` as a mere safety limit."""
        if params.pooling is not None:
            pooling = self._pooling if params.pooling == "auto" else params.pooling
            # Like an answer of one token, an embedding ends with the prompt's last step. No token is sampled.
            return replace(params, pooling=pooling, max_tokens=1, min_tokens=0, seed=0)
        room = self.limits.usable_window - prompt_len
        asked = params.max_tokens if params.max_tokens is not None else self.limits.answer or room
        max_tokens = min(room, asked)
        if params.min_tokens > max_tokens:
            raise InvalidRequestError(
                f"min_tokens is {params.min_tokens}, but the answer has at most {max_tokens} tokens", param="min_tokens"
            )
        return replace(
            params,
            max_tokens=max_tokens,
            seed=secrets.randbits(63) if params.seed is None else params.seed,
            eos_token_ids=() if params.ignore_eos else self.limits.eos_token_ids,
            bad_word_ids=self._bad_word_ids(params),
        )

    def _bad_word_ids(self, params: SamplingParams) -> tuple[tuple[int, ...], ...]:
        """Encode the bad words, each as the first word of a text and after a space, which have different tokens."""
        written = [text for word in params.bad_words for text in (word, f" {word.lstrip()}")]
        return tuple(dict.fromkeys(ids for text in written if (ids := tuple(self._encode(text)))))
