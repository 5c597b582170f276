"""The engine as the server sees it, computed by several replicas."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Final

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import TierId
from engine.api.errors import EbbError, EngineError, NotReadyError, OverloadedError
from engine.api.generate_request import GenerateRequest
from engine.api.request_stream import RequestStream
from engine.api.stored_tokens import Trail
from engine.config import EngineConfig
from engine.fleet.gateway.answer import FRUITLESS, LateError, RemoteAnswer
from engine.fleet.gateway.keeper import ReplicaKeeper
from engine.fleet.gateway.link import Link, ReplicaLostError
from engine.fleet.gateway.moves import Moves
from engine.fleet.gateway.remote_adapters import RemoteAdapters, replaced
from engine.fleet.gateway.remote_prefixes import RemotePrefixes
from engine.fleet.gateway.summed_stats import EndedStats, summed
from engine.fleet.placement.interface import Placement
from engine.fleet.routing.prediction import StepLimits
from engine.fleet.routing.prompt_names import PromptNames
from engine.fleet.routing.replacements import Replacements
from engine.fleet.routing.roles import Part, may_be_handed_over, suits
from engine.fleet.routing.route_counts import RouteCounts
from engine.fleet.routing.router import PredictingRouter, RoutedPrompt, Router
from engine.fleet.wire.messages import AdoptDeletion, AdoptDeletions, Erase
from engine.intake.prefix_keys import TenantSalts
from engine.loop.stats import EngineStats
from models.adapters.adapter import Adapter
from models.chat.format import ChatFormat
from models.retrieval.folder import Retrieval
from models.tokenizers.text_tokenizer import TextTokenizer

STOPPING: Final = "the engine is stopping"

logger = logging.getLogger(__name__)


class RemoteEngine:
    """Owner of the answers that replicas compute. Every method belongs to the event loop's thread.

    The interface is that of `AsyncLLMEngine`. Each answer has one owner at a time, a link, which is one epoch of one
    replica. If the link is lost, another one continues the answer from the last token received.

    configs: configuration of each replica's engine, with its own share of the memory.
    config: configuration of the whole.
    tier_notes: see `AsyncLLMEngine`; an empty note here is replaced with that of the replicas.
    on_close: called with the seconds to flush, after the replicas have ended.
    router: None for the one that predicts.
    model: fingerprint of the model that replicas must have; empty if this process starts all of them.
    salts: salts of the tenants; None for those of the configuration's file. Fleets of several models share them.
    """

    def __init__(
        self,
        configs: Sequence[EngineConfig],
        placement: Placement,
        progress: Callable[[str], None],
        *,
        config: EngineConfig,
        tokenizer: TextTokenizer,
        chat_format: ChatFormat,
        sampling_defaults: Mapping[str, float],
        retrieval: Retrieval,
        tier_notes: Mapping[TierId, str],
        on_close: Callable[[], None],
        router: Router | None = None,
        model: str = "",
        salts: TenantSalts | None = None,
    ) -> None:
        self.config = config
        self.model_name = config.model.name
        self.tokenizer = tokenizer
        self.chat_format = chat_format
        self.sampling_defaults = sampling_defaults
        self.retrieval = retrieval
        self._notes = tier_notes
        self._on_close = on_close
        self._salts = salts or TenantSalts(config.cache.secret, config.cache.tenants_file)
        self._counts = RouteCounts()
        self._replacements = Replacements([each.parallel.role for each in configs])
        self.names = PromptNames(self._salts, has_prefixes=config.cache.prefix_cache)
        self._router = router or PredictingRouter(
            config.cache.block_size, StepLimits(config.scheduler.itl_target, config.scheduler.max_num_seqs)
        )
        self._keeper = ReplicaKeeper(
            configs,
            placement,
            progress,
            model,
            on_link=self._on_link,
            on_gone=self._on_gone,
            on_drained=self._on_drained,
            on_report=lambda link, report: self._router.take(link.seat, report),
            on_answers=self._on_orphans,
            on_give_up=self._give_up,
        )
        self._adapters = RemoteAdapters(self._keeper, self.names, is_shared=placement.is_shared)
        self.prefixes = RemotePrefixes(self._keeper, self._router, self.names)
        self._answers: dict[str, RemoteAnswer] = {}
        self._links: dict[str, Link] = {}
        self._takeovers: dict[str, asyncio.Task[None]] = {}
        self._moves = Moves(self.generate, self._move, computes_ahead=config.cache.prefix_cache)
        self._moving: set[asyncio.Task[None]] = set()
        self._draining: set[Link] = set()
        self._ids = itertools.count()
        self._ended_stats = EndedStats()
        self._is_stopping = False
        self._is_shared = placement.is_shared
        self._all_ended = asyncio.Event()
        self.gave_up = asyncio.Event()
        self.why_gave_up = ""

    @property
    def kv_fingerprint(self) -> str:
        """Identity of the model and of everything else that may change a bit of the computed KV."""
        return self._keeper.facts.kv_fingerprint

    @property
    def max_model_len(self) -> int:
        """Maximum number of tokens of a prompt and its answer together."""
        return self._keeper.max_model_len

    @property
    def adapters(self) -> Mapping[str, Adapter]:
        """The adapters that requests may name, by name."""
        return self._adapters.by_name

    @property
    def tier_notes(self) -> Mapping[TierId, str]:
        """For each lower tier, the reason why it is off; empty while it is on."""
        return {tier: self._notes.get(tier) or note for tier, note in self._keeper.facts.tier_notes.items()}

    @property
    def is_resident(self) -> bool:
        """Whether the weights are in memory, as they are for as long as the replicas live."""
        return True

    @property
    def num_answers(self) -> int:
        """Number of answers that have not ended."""
        return len(self._answers)

    async def until_idle(self) -> None:
        """Wait until all answers have ended."""
        while self._answers:
            self._all_ended.clear()
            await self._all_ended.wait()

    @property
    def is_broken(self) -> bool:
        """Whether all replicas have failed for good."""
        return self.gave_up.is_set()

    async def start(self) -> None:
        """Start the replicas and wait until all of them serve. Raise EngineError."""
        await self._keeper.start()

    async def generate(self, request: GenerateRequest) -> list[RequestStream]:
        """Queue a request on the replica that the router chooses, and return a stream for each of its answers.

        Nothing stays queued if the call is cancelled. Raise the replica's refusal, NotReadyError, EngineError if
        replicas died while they admitted the request, or TimeoutPassedError or OverloadedError if none served in time.
        """
        self._check_serving()
        ids = [f"{request.request_id or 'req'}-{next(self._ids)}" for _ in range(request.num_answers)]
        first, moved = self._counts.on_first_token, self._on_moved
        limit = self.config.scheduler.queue_timeout or inf
        answers = [
            RemoteAnswer(
                request_id=id_,
                request=request,
                choice=at,
                abort=self.abort,
                on_end=self._forget,
                on_first=first,
                on_moved=moved,
                queue_timeout=limit,
                adapter=self.adapters.get(request.adapter),
            )
            for at, id_ in enumerate(ids)
        ]
        try:
            while True:
                try:
                    await self._begin(request, answers)
                    break
                except ReplicaLostError as error:
                    self._check_serving()
                    if not self._may_continue(answers[0]):
                        raise EngineError(FRUITLESS) from error
                except LateError:
                    raise answers[0].lateness from None
        except BaseException:
            for answer in answers:
                if answer.is_accepted:
                    self.abort(answer.request_id)
                else:
                    self._forget(answer.request_id)
            raise
        return [answer.stream for answer in answers]

    def _check_serving(self) -> None:
        if self.is_broken:
            raise NotReadyError(self.why_gave_up)
        if self._is_stopping:
            raise NotReadyError(STOPPING)

    async def _begin(self, request: GenerateRequest, answers: Sequence[RemoteAnswer], part: Part = "prompt") -> None:
        """Have the best replica begin or continue `answers`.

        Raise ReplicaLostError, LateError, or the replica's refusal.
        """
        ids = [*request.prompt_token_ids, *request.produced]
        adapter = self.adapters.get(request.adapter)
        if adapter != answers[0].adapter:
            raise replaced(request.adapter)
        names = await self.names.of(ids, request.tenant, adapter, len(request.prompt_token_ids))
        links = await self._serving(answers[0])
        request = answers[0].in_time(request)
        left = request.params.max_tokens - len(request.produced) if request.params.max_tokens is not None else None
        assignments = self._router.route(RoutedPrompt(names, len(ids), len(answers), left, part))
        link = next(link for link in links if link.seat is assignments[0].seat)
        self._counts.on_route(assignments[0])
        if part == "prompt" and link.seat.role == "prefill" and may_be_handed_over(request):
            request = replace(request, hands_over=any(suits(each.seat.role, "answer") for each in links))
        for answer, assignment in zip(answers, assignments, strict=True):
            answer.route(assignment)
            self._answers[answer.request_id], self._links[answer.request_id] = answer, link
        try:
            await link.begin(request, answers)
        except BaseException:
            for answer in answers:
                answer.release()
                self._links.pop(answer.request_id, None)
            raise

    async def _serving(self, answer: RemoteAnswer) -> list[Link]:
        """Return the links of the replicas that serve, once there is one. Raise LateError, or as `serving`."""
        try:
            async with asyncio.timeout(None if self._keeper.ready else answer.seconds_left):
                return await self._keeper.serving()
        except TimeoutError:
            raise LateError from None

    def abort(self, request_id: str) -> None:
        """End an answer. The replica that computes it makes the last output; without one, it ends at once."""
        answer = self._answers.get(request_id)
        if answer is None:
            return
        answer.is_aborted = True
        if (takeover := self._takeovers.get(request_id)) is not None:
            takeover.cancel()
            self._end(answer)
        elif (link := self._links.get(request_id)) is None or not link.abort(answer):
            self._end(answer)

    def _end(self, answer: RemoteAnswer, error: str = "") -> None:
        """End an answer that no replica computes."""
        if error:
            answer.fail(error)
        else:
            answer.abort_here()

    def _forget(self, request_id: str) -> None:
        self._answers.pop(request_id, None)
        self._links.pop(request_id, None)
        if not self._answers:
            self._all_ended.set()

    def _may_continue(self, answer: RemoteAnswer) -> bool:
        return answer.may_continue({link.epoch for link in self._keeper.ready})

    def _on_orphans(self, link: Link, answers: Sequence[RemoteAnswer]) -> None:
        """Continue the answers of a lost replica on others."""
        for answer in answers:
            answer.lose_replica(link.epoch)
            self._continue(answer)

    async def _move(self, answer: RemoteAnswer) -> None:
        """Continue an answer that was taken from a replica that is drained."""
        answer.leave_replica()
        if (takeover := self._continue(answer)) is not None:
            await asyncio.wait([takeover])

    def _continue(self, answer: RemoteAnswer) -> asyncio.Task[None] | None:
        """Begin to continue an answer that no replica computes. Return the task; None if the answer has to end."""
        self._links.pop(answer.request_id, None)
        if answer.is_aborted or self._is_stopping or self.is_broken:
            self._end(answer)
        elif not self._may_continue(answer):
            self._end(answer, FRUITLESS)
        else:
            task = asyncio.create_task(self._take_over(answer), name=f"take-over-{answer.request_id}")
            self._takeovers[answer.request_id] = task
            return task
        return None

    def _on_moved(self, answer: RemoteAnswer) -> None:
        """Continue an answer whose prompt has been computed, and its first token, on a replica that decodes."""
        self._links.pop(answer.request_id, None)
        if answer.is_aborted or self._is_stopping or self.is_broken:
            self._end(answer)
            return
        work = self._take_over(answer, "answer")
        self._takeovers[answer.request_id] = asyncio.create_task(work, name=f"hand-over-{answer.request_id}")

    async def _take_over(self, answer: RemoteAnswer, part: Part = "prompt") -> None:
        try:
            while True:
                try:
                    await self._begin(answer.continuation(), [answer], part)
                    if part == "answer":
                        self._counts.on_hand_over()
                    else:
                        self._counts.on_takeover()
                    return
                except ReplicaLostError:
                    if not self._may_continue(answer):
                        self._end(answer, FRUITLESS)
                        return
                except OverloadedError as error:
                    left = answer.seconds_left
                    if left == 0.0:
                        raise LateError from None
                    await asyncio.sleep(min(error.retry_after, left if left is not None else inf))
        except LateError:
            answer.expire()
        except NotReadyError:
            # The server is stopping, and its next process continues the answer.
            self._end(answer)
        except EbbError as error:
            self._end(answer, error.message)
        except Exception:
            logger.exception("%s could not be continued on another replica", answer.request_id)
            self._end(answer, "The answer could not be continued after a process had died. Try again.")
        finally:
            self._takeovers.pop(answer.request_id, None)

    def tenant_salt(self, tenant: str) -> bytes:
        """Return the tenant's 32 secret bytes."""
        return self._salts.salt(tenant)

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended."""
        return [id_ for id_, each in self._answers.items() if each.tenant == tenant and each.is_accepted]

    async def delete_tenant(self, tenant: str) -> None:
        """End the tenant's requests and make its KV unreachable on every replica, also after a restart.

        Raise EngineError if the deletion cannot be made durable.
        """
        await asyncio.to_thread(self._salts.rotate, tenant)
        self._spread_deletion(tenant)

    def deletions_of(self, tenant: str) -> int:
        """Return the number of the tenant's deletions."""
        return self._salts.generation(tenant)

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        """Follow a deletion that another server has made durable, on every replica."""
        self._salts.adopt(tenant, deletions)
        self._spread_deletion(tenant)

    def _spread_deletion(self, tenant: str) -> None:
        for link in self._keeper.ready:
            link.send(AdoptDeletion(tenant, self._salts.generation(tenant)))
        for request_id in self.requests_of(tenant):
            self.abort(request_id)

    def _on_link(self, link: Link) -> None:
        """Route requests to a replica, after the deletions, in case it cannot read this machine's file."""
        self._ended_stats.begin(link.index, link.epoch)
        self.names.learn(self._keeper.facts)
        self._router.join(link.seat)
        self._note_roles()
        link.send(AdoptDeletions(self._salts.generations))

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str = "local") -> list[BlockKey]:
        """Return the keys of the blocks that only these trails of a tenant use."""
        return await self.names.keys_of_trails(trails, tenant)

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        """Erase blocks from the tiers of every replica. See `AsyncLLMEngine.erase`.

        Replicas that are drained are included: they flush their tiers later. A replica without a connection may still
        hold blocks, so False is returned until it serves again, in this epoch or the next.
        """
        # First, since the others then erase from Redis what these have just written there.
        drained = await asyncio.gather(*(self._erase_at(link, keys, again) for link in self._draining))
        is_one_away = any(state.state == "starting" for state in self._keeper.states)
        links = {*await self._keeper.serving(), *self._draining}
        erased = await asyncio.gather(*(self._erase_at(link, keys, again) for link in links))
        return all([*drained, *erased]) and not is_one_away

    async def _erase_at(self, link: Link, keys: Sequence[BlockKey], again: bool) -> bool:
        try:
            return bool(await link.call(lambda call: Erase(call, list(keys), again)))
        except ReplicaLostError:
            # Only the connection may be lost, and not the memory of the replica.
            return False

    def stats(self) -> EngineStats:
        """Return the sum over all replicas, as of their last beats."""
        each = [*self._keeper.stats, *self._ended_stats.counts]
        if not each:
            raise EngineError("no replica has started")
        return replace(summed(each), replicas=self._replacements.shown(self._keeper.states), routes=self._counts.stats)

    def _on_drained(self, link: Link) -> None:
        self._draining.add(link)
        self._router.leave(link.seat)
        self._note_roles()
        task = asyncio.create_task(self._moves.all_of(link), name=f"move-from-{link.index}")
        self._moving.add(task)
        task.add_done_callback(self._moving.discard)

    def _on_gone(self, link: Link) -> None:
        self._draining.discard(link)
        self._router.leave(link.seat)
        self._note_roles()
        self.prefixes.forget(link)
        if link.stats is not None:
            self._ended_stats.add(link.index, link.epoch, link.stats)

    def _note_roles(self) -> None:
        if not self._is_stopping:
            self._replacements.note([link.seat.role for link in self._keeper.ready])

    def _give_up(self, reason: str) -> None:
        """Stop serving. The answers end as during a stop, so that the next server process continues them."""
        logger.error("the engine has failed: %s", reason)
        self.why_gave_up = reason
        self.gave_up.set()
        self._end_parked()

    def _end_parked(self) -> None:
        """End the answers that wait for a replica."""
        for request_id, task in list(self._takeovers.items()):
            task.cancel()
            if (answer := self._answers.get(request_id)) is not None:
                self._end(answer)

    async def load_adapter(self, name: str, *, in_place: bool) -> Adapter:
        """Have all replicas read an adapter of the configured folder. Raise as `RemoteAdapters.load`."""
        return await self._adapters.load(name, in_place=in_place)

    async def unload_adapter(self, name: str) -> None:
        """Refuse further requests for an adapter. Requests that run end as they would. Raise NotFoundError."""
        await self._adapters.unload(name)

    def drain_replica(self, index: int) -> None:
        """Have the other replicas continue the answers of one, which then restarts.

        Raise NotFoundError, or ConflictError if the replica does not serve now, or no other does.
        """
        self._keeper.drain(index)

    async def stop(self, drain_seconds: float, patience: float = 0.0) -> None:
        """Refuse new requests, let running ones end within `drain_seconds`, abort the rest, flush the tiers.

        patience: seconds beyond the usual ones for the flush.
        """
        self._is_stopping = True
        self._end_parked()
        if self._is_shared:
            await self._end_answers(drain_seconds)
        await self._keeper.stop(drain_seconds, patience)
        await asyncio.to_thread(self._on_close)

    async def _end_answers(self, drain_seconds: float) -> None:
        """Let the answers end within `drain_seconds`, and abort the rest. Shared replicas drain for no gateway."""
        if self._answers:
            self._all_ended.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(drain_seconds):
                    await self._all_ended.wait()
        for answer in [each for each in self._answers.values() if each.is_accepted]:
            self._end(answer)
