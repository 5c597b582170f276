"""One of several models as the rest of the server sees it: an engine that is loaded when a request comes."""

import asyncio
import time
from collections.abc import Mapping, Sequence

from app.host.backend import GenerationStream, PromptFormat, TextTokenizer
from app.host.kv_namespaces import KVNamespaces
from app.host.models import ModelTable
from app.host.served_model import ModelFacts, ServedModel
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import TierId
from engine.api.adapter_refusals import no_folder, unknown
from engine.api.errors import NotFoundError, NotReadyError
from engine.api.generate_request import GenerateRequest
from engine.api.promise import PromiseReport, PromiseRequest
from engine.api.stored_tokens import AnsweredText, Trail
from engine.config import EngineConfig
from engine.intake.prefix_keys import TenantSalts
from engine.loop.stats import EngineStats
from models.adapters.adapter import Adapter
from models.retrieval.folder import Retrieval


class OnDemandModel:
    """Implementation of `Backend` for one model of a table.

    Prompts can be made once the model was loaded, whether it is in memory or not. Tenants and their deletions are the
    same for all models.
    """

    def __init__(self, table: ModelTable, model: ServedModel, salts: TenantSalts, namespaces: KVNamespaces) -> None:
        """Make the engine. salts, namespaces: of all models."""
        self._table = table
        self._model = model
        self._salts = salts
        self._namespaces = namespaces
        self.model_name = model.name
        self.prefixes = OnDemandPrefixes(model)
        self.is_broken = False
        # One model that fails ends no other's answers, so the server continues.
        self.gave_up = asyncio.Event()
        self.why_gave_up = ""

    @property
    def facts(self) -> ModelFacts:
        """Facts of the model. Raise NotReadyError before the first load."""
        if self._model.facts is None:
            raise NotReadyError(f"The model {self.model_name!r} has not been loaded yet")
        return self._model.facts

    @property
    def adapters(self) -> Mapping[str, Adapter]:
        """The adapters of the last load; none before the first one."""
        return self._model.facts.adapters if self._model.facts is not None else {}

    @property
    def is_resident(self) -> bool:
        """Whether the weights are in memory."""
        return self._model.state == "loaded"

    @property
    def kv_fingerprint(self) -> str:
        """Identity of the model and of everything else that may change a bit of the computed KV."""
        return self.facts.kv_fingerprint

    @property
    def max_model_len(self) -> int:
        """Maximum number of tokens of a prompt and its answer together."""
        return self.facts.max_model_len

    @property
    def config(self) -> EngineConfig:
        """Configuration that the engine was built from."""
        return self.facts.config

    @property
    def tier_notes(self) -> Mapping[TierId, str]:
        """For each tier below CPU memory, one sentence on why it is off; empty when it is on."""
        return self.facts.tier_notes

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's tokenizer."""
        return self.facts.tokenizer

    @property
    def chat_format(self) -> PromptFormat:
        """The model's chat template."""
        return self.facts.chat_format

    @property
    def sampling_defaults(self) -> Mapping[str, float]:
        """Sampling recommended by the model's makers: some of temperature, top_p and top_k."""
        return self.facts.sampling_defaults

    @property
    def retrieval(self) -> Retrieval:
        """Uses of the model's vectors: sizes of embeddings, and the ranking of documents."""
        return self.facts.retrieval

    async def generate(self, request: GenerateRequest) -> Sequence[GenerationStream]:
        """Load the model if it is not in memory, and queue a request. The rest is as in `Backend.generate`.

        The wait for the model counts against the request's timeout and the limit of the queue.
        """
        async with self._table.engine_of(self._model, self._table.patience(request.urgency.timeout)) as engine:
            return await engine.generate(request)

    def abort(self, request_id: str) -> None:
        """End a request. The stream gets a last output with the finish_reason "abort"."""
        if self._model.engine is not None:
            self._model.engine.abort(request_id)

    def tenant_salt(self, tenant: str) -> bytes:
        """Return the tenant's 32 secret bytes. Deleting the tenant replaces them."""
        return self._salts.salt(tenant)

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended, to all models: its limits count them together."""
        return self._table.requests_of(tenant)

    async def delete_tenant(self, tenant: str) -> None:
        """End the tenant's requests to all models, and make its KV unreachable in every tier.

        Raise EngineError if the deletion cannot be made durable.
        """
        await asyncio.to_thread(self._salts.rotate, tenant)
        self._spread_deletion(tenant)

    def deletions_of(self, tenant: str) -> int:
        """Return how often the tenant was deleted. The tenant's salt follows from it."""
        return self._salts.generation(tenant)

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        """Follow a deletion that another server has made durable, the last of so many."""
        self._salts.adopt(tenant, deletions)
        self._spread_deletion(tenant)

    def _spread_deletion(self, tenant: str) -> None:
        for engine in self._table.engines:
            engine.adopt_deletion(tenant, self._salts.generation(tenant))

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str) -> list[BlockKey]:
        """Return the keys of the blocks that only these trails of a tenant use, whether the model is in memory.

        A model that was never loaded has no blocks.
        """
        if self._model.facts is not None:
            return await self._model.facts.names.keys_of_trails(trails, tenant)
        keys = self._namespaces.keys_of(self.model_name)
        return await asyncio.to_thread(keys.of_trails, trails, tenant) if keys is not None else []

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        """Erase blocks from all tiers. Lower tiers are those of all models, so that any model in memory erases them.

        Return False to be repeated while no model is in memory, or one is on its way in or out.
        """
        is_settled = self._table.is_settled
        erased = await asyncio.gather(*(engine.erase(keys, again=again) for engine in self._table.engines))
        return is_settled and self._table.is_settled and bool(erased) and all(erased)

    def stats(self) -> EngineStats:
        """Return a snapshot of the statistics, empty while the model is not in memory."""
        return self._model.engine.stats() if self._model.engine is not None else EngineStats()

    async def load_adapter(self, name: str, *, in_place: bool) -> Adapter:  # noqa: ARG002
        """Raise NotFoundError: an adapter belongs to one model."""
        raise no_folder()

    async def unload_adapter(self, name: str) -> None:
        """Raise NotFoundError: none is loaded."""
        raise unknown(name, self.adapters)

    def drain_replica(self, index: int) -> None:
        """Raise NotFoundError: each of several models is one process."""
        raise NotFoundError(f"There is no replica {index}: each model is one process", code="replica_not_found")

    async def start(self) -> None:
        """Do nothing: the table loads the model."""

    async def stop(self, drain_seconds: float) -> None:
        """Stop the engines of all models."""
        await self._table.stop(drain_seconds)


class OnDemandPrefixes:
    """Prefetch and look-up of prompts of one model. While it is not in memory, nothing is prefetched."""

    def __init__(self, model: ServedModel) -> None:
        self._model = model

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """See PrefixTiers."""
        if self._model.engine is None:
            return False
        return await self._model.engine.prefixes.warm(name, token_ids, tenant=tenant)

    def leave(self, name: str) -> None:
        """See PrefixTiers."""
        if self._model.engine is not None:
            self._model.engine.prefixes.leave(name)

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[TierId | None]:
        """See PrefixTiers. The place is unknown while the model is not in memory."""
        if self._model.engine is None:
            return [None] * len(prefixes)
        return await self._model.engine.prefixes.places(prefixes, tenant=tenant)

    async def promise(
        self, token_ids: Sequence[int], wanted: PromiseRequest, *, tenant: str, patience: float
    ) -> PromiseReport:
        """See PrefixTiers. Nothing new is promised while the model is not in memory; earlier promises hold."""
        if self._model.engine is None:
            until = time.time() + wanted.seconds
            return PromiseReport(0, wanted.num_tokens, wanted.seconds, until, "disk_away")
        return await self._model.engine.prefixes.promise(token_ids, wanted, tenant=tenant, patience=patience)

    async def release(self, token_ids: Sequence[int], *, num_shared: int, tenant: str) -> bool:
        """See PrefixTiers. Promises of a model that is not in memory end with their time."""
        if self._model.engine is None:
            return False
        return await self._model.engine.prefixes.release(token_ids, num_shared=num_shared, tenant=tenant)

    async def recall(self, text: AnsweredText, *, tenant: str) -> None:
        """See PrefixTiers. A model that is not in memory collects its phrases again once it is."""
        if self._model.engine is not None:
            await self._model.engine.prefixes.recall(text, tenant=tenant)
