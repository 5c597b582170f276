"""Construction of the services: the database first, then the keys, the runs and all that belongs to the model."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from app.access.administration import Administration
from app.access.auth_policy import AuthPolicy
from app.access.daily_use import DailyUse
from app.access.directory_logins import DirectoryLogins
from app.access.key_ring import KeyRing
from app.access.password_logins import PasswordLogins
from app.access.rate_limit_sync import RateLimitSync
from app.access.saml_logins import SamlLogins
from app.accounts.accounts import Accounts
from app.accounts.scim_plan import ScimPlan
from app.conversations.chat_prefixes import ChatPrefixes
from app.conversations.continuation import Continuation
from app.conversations.deletions import Deletions
from app.conversations.kv_erasure import KVErasure
from app.conversations.next_prompt_prefill import NextPromptPrefill
from app.conversations.pinned_kv import PinnedKV
from app.conversations.recalled_phrases import PhraseRecall
from app.conversations.shared_deletions import SharedDeletions
from app.conversations.shared_pages import SharedPages
from app.conversations.title_maker import TitleMaker
from app.conversations.turns import Turns
from app.documents.extraction import DocumentReader
from app.domain.token_prices import TokenPrices
from app.host.engine_host import EngineHost
from app.observability.loop_lag import LoopLag
from app.observability.metrics import Metrics
from app.prompts.answer_memory import AnswerMemory
from app.prompts.cache_diagnostics import CacheDiagnostics
from app.prompts.prefix_rules import STABLE, PrefixRules
from app.prompts.stateless import WholePrompts
from app.runs.changes import Changes, SharedChanges
from app.runs.lease import Lease
from app.runs.live_feed import LiveFeed
from app.runs.place_log import PlaceLog
from app.runs.resumption import Resumption
from app.runs.service import RunRegistry
from app.runs.shared_progress import SharedProgress
from app.runs.shared_runs import SharedRuns
from app.runs.storage_probe import StorageProbe
from app.services import AccessServices, ModelServices, RecordServices, Services, responses_of
from app.storage.errors import DatabaseError, UnusableDatabaseError
from app.storage.notices import NoticeTable
from app.storage.store import Store
from app.tenants.gate import TenantGates
from app.tenants.tenant_threads import TenantThreads
from cache_tiers.owners.owners import Owners
from engine.api.errors import OutageError

if TYPE_CHECKING:
    from app.provisioning.service import Provisioning
    from app.storage.replicas import ReplicaStore

JOIN_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePlan:
    """Choices of the operator.

    auth_policy: which clients must present a key.
    response_days: age at which stored responses expire; 0 keeps them forever.
    deleted_days: time for which deleted conversations and messages can be restored; 0 means ten minutes.
    tenant_weights: each tenant's share of the memory for remembered answers.
    prefix_rules: rules for the beginning of the prompts of API clients.
    accounts: logins of people. Without any, keys are the only way to log in.
    share_links: whether people can make links to chats that anyone can read.
    token_prices: None if the server charges nothing.
    database_url: address of a PostgreSQL database, which replaces the file; "" without one.
    secret_digest: digest of the secret file, which is the same on all servers of a database.
    shares_replicas: whether the servers of the database share replicas of the engine.
    reservable_bytes: returns the bound of the disk tier, 0 if it is off. The call may block.
    """

    model_titles: bool = False
    auth_policy: AuthPolicy = "once made"
    response_days: int = 0
    deleted_days: int = 0
    tenant_weights: Mapping[str, float] | None = None
    prefix_rules: PrefixRules = STABLE
    accounts: Accounts = field(default_factory=Accounts)
    share_links: bool = False
    token_prices: TokenPrices | None = None
    database_url: str = ""
    secret_digest: bytes = b""
    shares_replicas: bool = False
    reservable_bytes: Callable[[], int] = lambda: 0


async def open_services(database_path: Path, host: EngineHost, plan: ServicePlan | None = None) -> Services:
    """Open the database and make the services for clients without a key.

    Runs that the previous process left unfinished can be followed as soon as this returns. Raise
    UnusableDatabaseError if the database cannot be opened or read.
    """
    plan = plan or ServicePlan()
    async with AsyncExitStack() as closing:
        store = await (Store.open_postgres(plan.database_url) if plan.database_url else Store.open(database_path))
        # The store's threads would keep the process alive.
        closing.push_async_callback(store.close)
        try:
            return await _Opening(store, host, database_path, plan).services(closing)
        except (OutageError, DatabaseError) as error:
            raise UnusableDatabaseError(
                f"The conversations in {database_path} cannot be read: {error}. `ebb doctor` says what is damaged; "
                "`ebb restore` puts a backup in their place"
            ) from error


class _Opening:
    """The parts as they are made. Some call parts that are made after them."""

    def __init__(self, store: Store, host: EngineHost, database_path: Path, plan: ServicePlan) -> None:
        self.store = store
        self.host = host
        self.path = database_path
        self.plan = plan

    async def services(self, closing: AsyncExitStack) -> Services:
        """Make all parts, and leave to `closing` how they end."""
        store, host, plan = self.store, self.host, self.plan
        host.storage = store.database.health
        store.database.batches.is_busy = lambda: host.is_computing
        if host.storage.lost is not None:
            logger.error("%s", host.storage.lost)
        await self._make_gates()
        self._make_runs()
        await self._begin_runs()
        records, model = self._records(), self._model()
        handlers = [*records.notice_handlers, model.pinned_kv.notice_handlers]
        await store.database.listen(NoticeTable(handlers).on_notice)
        metrics, threads = Metrics(host, lambda: self.runs.live, lambda: self.ring.reserved_bytes), TenantThreads()
        services = Services(
            store=store,
            turns=self.turns,
            continuation=Continuation(host, store, self.runs, self.gate, self.erasure.begin),
            chat_prefixes=ChatPrefixes(host, store),
            responses=responses_of(store, self.gate, self.runs, self.turns, model),
            deletions=self._deletions(),
            access=self._access(records),
            records=records,
            model=model,
            metrics=metrics,
            loop_lag=LoopLag(
                metrics.loop_lag.observe,
                metrics.loop_blocks.inc,
                lambda: host.state == "starting",
                lambda: host.is_computing,
            ),
            live=LiveFeed(host),
            documents=DocumentReader(),
            tenant_threads=threads,
            share_links=plan.share_links,
            shared_pages=SharedPages(threads),
            token_prices=plan.token_prices,
            closing=AsyncExitStack(),
        )
        _leave_to(closing, services)
        services.closing.push_async_exit(closing.pop_all())
        return services

    async def _make_gates(self) -> None:
        store, plan = self.store, self.plan
        self.ring = KeyRing(store.access, store.keys, store.people, plan.auth_policy, rules=plan.accounts.rules)
        await self.ring.read()
        self.gates = TenantGates(self.ring.limits_of, time.monotonic, await store.owed_use.all())
        self.gate = self.gates.of(store.tenant)

    def _make_runs(self) -> None:
        store, host = self.store, self.host
        self.changes = Changes()
        self.shared_runs = SharedRuns(store, lambda run_id: self.runs.stop_named(run_id), lambda: self.lease.settled())
        self.shared_progress = SharedProgress(store.database, lambda: self.lease.is_alone)
        self.runs = RunRegistry(
            store.runs, self.shared_runs, announce=self.changes.announce, share=self.shared_progress.add
        )
        self.turns = Turns(host, store, self.runs, self.gate, lambda nodes, tenant: self.erasure.begin(nodes, tenant))
        self.titles = (
            TitleMaker(host, store, self.turns, announce=self.changes.announce) if self.plan.model_titles else None
        )
        self.resumption = Resumption(
            host,
            store,
            self.runs,
            PlaceLog(self.path.with_name("resumed-places")),
            on_resumed=self.titles.after if self.titles is not None else lambda _: None,
        )
        self.lease = Lease(
            store.database,
            store.servers,
            self.runs,
            self._take_over,
            self.path.with_name("server-name"),
            is_ready=lambda: host.status in ("ok", "degraded"),
        )

    async def _take_over(self) -> None:
        await self.resumption.take_over()
        if self.titles is not None:
            await self.titles.take_over()

    async def _begin_runs(self) -> None:
        await self.lease.begin(self.plan.secret_digest)
        try:
            await self.store.imports.discard_former()
        except OutageError as error:
            # Conversations of the interrupted import stay hidden until the next start.
            logger.error("the remains of an interrupted import could not be removed: %s", error)
        await self.resumption.begin(self.lease.former, claims=self.lease.claims)
        if self.titles is not None and self.lease.claims:
            await self.titles.begin()
        self.erasure = KVErasure(self.host, self.store, former=self.lease.former, leads=lambda: self.lease.leads)

    def _records(self) -> RecordServices:
        store = self.store
        return RecordServices(
            storage_probe=StorageProbe(store.database),
            runs=self.runs,
            changes=self.changes,
            resumption=self.resumption,
            lease=self.lease,
            shared_runs=self.shared_runs,
            shared_changes=SharedChanges(store.database, self.changes, lambda: self.lease.is_alone),
            shared_progress=self.shared_progress,
            shared_deletions=SharedDeletions(self.host, store, self.runs, self.erasure, lambda: self.lease.leads),
            replica_directory=_replica_directory(store) if self.plan.shares_replicas else None,
        )

    def _model(self) -> ModelServices:
        answers = AnswerMemory(self.store.answers, Owners(self.plan.tenant_weights))
        return ModelServices(
            host=self.host,
            erasure=self.erasure,
            answers=answers,
            prompts=WholePrompts(self.host, answers, self.plan.prefix_rules),
            diagnostics=CacheDiagnostics(answers, self.plan.prefix_rules),
            titles=self.titles,
            next_prefixes=NextPromptPrefill(self.host, self.store, self.turns, self.erasure),
            phrases=PhraseRecall(self.host, self.store),
            pinned_kv=PinnedKV(
                self.host,
                self.store,
                reserved=lambda tenant: self.ring.limits_of(tenant).kv_reserved or 0,
                reserving=self.ring.reserving,
            ),
        )

    def _deletions(self) -> Deletions:
        return Deletions(
            self.host,
            self.store,
            self.runs,
            self.erasure,
            response_days=self.plan.response_days,
            deleted_days=self.plan.deleted_days,
            leads=lambda: self.lease.leads,
        )

    def _access(self, records: RecordServices) -> AccessServices:
        store, ring, accounts = self.store, self.ring, self.plan.accounts
        daily_use = DailyUse(self.gates, store.daily_use)
        return AccessServices(
            ring=ring,
            gates=self.gates,
            rate_limit_sync=RateLimitSync(self.gates, store.owed_use, lambda: self.lease.is_alone),
            daily_use=daily_use,
            administration=Administration(
                host=self.host,
                store=store,
                ring=ring,
                gates=self.gates,
                daily_use=daily_use,
                runs=self.runs,
                delete_kv=records.shared_deletions.delete_tenant,
                reservable_bytes=self.plan.reservable_bytes,
            ),
            accounts=accounts,
            password_logins=PasswordLogins(store.passwords, ring, accounts.passwords, accounts.failed),
            directory_logins=(
                DirectoryLogins(accounts.directory, ring, accounts.failed) if accounts.directory is not None else None
            ),
            saml_logins=SamlLogins(accounts.saml, store.saml_answers) if accounts.saml is not None else None,
            provisioning=_provisioning(accounts.scim, store, ring) if accounts.scim is not None else None,
        )


def _leave_to(closing: AsyncExitStack, services: Services) -> None:
    """Have `closing` end the parts of the services. The last ones here end first."""
    access, records, model = services.access, services.records, services.model
    closing.callback(services.tenant_threads.close)
    closing.push_async_callback(access.daily_use.stop)
    closing.push_async_callback(access.rate_limit_sync.stop)
    closing.push_async_callback(access.ring.stop)
    closing.push_async_callback(model.answers.stop)
    closing.push_async_callback(records.lease.stop)
    closing.push_async_callback(records.runs.leave)
    closing.push_async_callback(model.erasure.stop)
    closing.push_async_callback(model.pinned_kv.stop)
    closing.push_async_callback(model.phrases.stop)
    closing.push_async_callback(services.deletions.stop)
    closing.push_async_callback(model.next_prefixes.stop)
    closing.callback(records.changes.stop)
    closing.callback(services.live.stop)
    closing.push_async_callback(records.storage_probe.stop)
    closing.callback(services.loop_lag.stop)
    if model.titles is not None:
        closing.push_async_callback(model.titles.stop)
    closing.push_async_callback(_join, records.runs)
    closing.push_async_callback(records.shared_deletions.stop)
    closing.push_async_callback(records.shared_progress.stop)
    closing.push_async_callback(records.shared_changes.stop)
    closing.push_async_callback(records.shared_runs.stop)
    closing.push_async_callback(records.resumption.stop)
    closing.callback(records.lease.stop_takeovers)


async def _join(runs: RunRegistry) -> None:
    """Wait for the runs to end, for a limited time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(JOIN_SECONDS):
            await runs.join()
            runs.interrupt()


def _replica_directory(store: Store) -> "ReplicaStore":
    # A server without shared replicas starts without the code of replicas.
    from app.storage.replicas import ReplicaStore

    return ReplicaStore(store.database)


def _provisioning(plan: ScimPlan, store: Store, ring: KeyRing) -> "Provisioning":
    # A server without provisioning starts without its libraries.
    from app.provisioning.service import Provisioning

    return Provisioning(store.provisioning, plan, ring.read)
