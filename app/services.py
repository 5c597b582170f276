"""Services that the routes work with: opened once at startup, reached through the request."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request

from app.access.administration import Administration
from app.access.auth_policy import AuthPolicy
from app.access.daily_use import DailyUse
from app.access.directory_logins import DirectoryLogins
from app.access.key_ring import KeyRing
from app.access.password_logins import PasswordLogins
from app.access.saml_logins import SamlLogins
from app.access.use_keeper import UseKeeper
from app.accounts.accounts import Accounts
from app.accounts.login_provider import LoginProvider
from app.accounts.scim_plan import ScimPlan
from app.apis.responses.service import Responses
from app.conversations.chat_prefixes import ChatPrefixes
from app.conversations.continuation import Continuation
from app.conversations.deletions import Deletions
from app.conversations.kv_erasure import KVErasure
from app.conversations.next_prompt_prefill import NextPromptPrefill
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
from app.runs.changes import Changes
from app.runs.lease import Lease
from app.runs.live_feed import LiveFeed
from app.runs.place_log import PlaceLog
from app.runs.resumption import Resumption
from app.runs.service import RunRegistry
from app.runs.shared_changes import SharedChanges
from app.runs.shared_progress import SharedProgress
from app.runs.shared_runs import SharedRuns
from app.runs.storage_probe import StorageProbe
from app.storage.errors import DatabaseError, UnusableDatabaseError
from app.storage.store import Store
from app.tenants.gate import TenantGates
from app.tenants.tenancy import tenant_of
from app.tenants.tenant_threads import TenantThreads
from cache_tiers.owners import Owners
from engine.errors import OutageError

if TYPE_CHECKING:
    from app.provisioning.service import Provisioning
    from app.storage.replicas import ReplicaStore

JOIN_SECONDS = 5.0
MAX_BOUND = 256
"""Tenants whose services are kept. Those of another tenant are bound again, which takes less than a millisecond."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Services of the whole process, and the parts of them that are bound to one tenant.

    Bound to a tenant: `store`, `turns`, `continuation`, `chat_prefixes`, `responses` and `deletions`. The method `of`
    binds them to another tenant. `close` closes the store, but leaves the engine to its owner.

    shared_runs: runs that this server does not work on.
    replica_directory: None unless the servers of the database share replicas of the engine.
    provisioning: None on a server without SCIM.
    directory_logins: None without a directory of people.
    saml_logins: None without a SAML provider.
    titles: None where chats are titled with words of the first message.
    share_links: whether people can make links to chats that anyone can read.
    shared_pages: the pages of such links, of all tenants.
    token_prices: None on a server that charges nothing.
    """

    host: EngineHost
    store: Store
    ring: KeyRing
    gates: TenantGates
    use_keeper: UseKeeper
    daily_use: DailyUse
    storage_probe: StorageProbe
    runs: RunRegistry
    changes: Changes
    erasure: KVErasure
    deletions: Deletions
    turns: Turns
    resumption: Resumption
    lease: Lease
    shared_runs: SharedRuns
    replica_directory: "ReplicaStore | None"
    shared_changes: SharedChanges
    shared_progress: SharedProgress
    shared_deletions: SharedDeletions
    continuation: Continuation
    chat_prefixes: ChatPrefixes
    responses: Responses
    answers: AnswerMemory
    prompts: WholePrompts
    diagnostics: CacheDiagnostics
    titles: TitleMaker | None
    next_prefixes: NextPromptPrefill
    metrics: Metrics
    loop_lag: LoopLag
    live: LiveFeed
    administration: Administration
    accounts: Accounts
    password_logins: PasswordLogins
    directory_logins: DirectoryLogins | None
    saml_logins: SamlLogins | None
    provisioning: "Provisioning | None"
    documents: DocumentReader
    tenant_threads: TenantThreads
    share_links: bool
    shared_pages: SharedPages
    token_prices: TokenPrices | None = None
    _of_tenants: OrderedDict[str, "Services"] = field(default_factory=OrderedDict, repr=False)
    """Services that `of` has bound, by tenant, the last used ones last. Only the database and the gates have state."""

    @classmethod
    async def open(
        cls,
        database_path: Path,
        host: EngineHost,
        *,
        model_titles: bool = False,
        auth_policy: AuthPolicy = "once made",
        response_days: int = 0,
        deleted_days: int = 0,
        tenant_weights: Mapping[str, float] | None = None,
        prefix_rules: PrefixRules = STABLE,
        accounts: Accounts | None = None,
        share_links: bool = False,
        token_prices: TokenPrices | None = None,
        database_url: str = "",
        secret_digest: bytes = b"",
        shares_replicas: bool = False,
    ) -> "Services":
        """Open the database and make the services for clients without a key.

        Runs that the previous process left unfinished can be followed as soon as this returns.

        auth_policy: which clients must present a key.
        response_days: age at which stored responses expire; 0 keeps them forever.
        deleted_days: time for which deleted conversations and messages can be restored; 0 means ten minutes.
        tenant_weights: each tenant's share of the memory for remembered answers.
        prefix_rules: rules for the beginning of the prompts of API clients.
        accounts: logins of people; None if keys are the only way to log in.
        share_links: whether people can make links to chats that anyone can read.
        token_prices: None if the server charges nothing.
        database_url: address of a PostgreSQL database, which replaces the file at `database_path`; "" without one.
        secret_digest: digest of the secret file, which is the same on all servers of a database.
        shares_replicas: whether the servers of the database share replicas of the engine.

        Raises:
            UnusableDatabaseError: the database cannot be opened or read.
        """
        store = await (Store.open_postgres(database_url) if database_url else Store.open(database_path))
        try:
            return await cls._over(
                store,
                host,
                database_path,
                model_titles=model_titles,
                auth_policy=auth_policy,
                response_days=response_days,
                deleted_days=deleted_days,
                tenant_weights=tenant_weights,
                prefix_rules=prefix_rules,
                accounts=accounts or Accounts(),
                share_links=share_links,
                token_prices=token_prices,
                secret_digest=secret_digest,
                shares_replicas=shares_replicas,
            )
        except (OutageError, DatabaseError) as error:
            await store.close()
            raise UnusableDatabaseError(
                f"The conversations in {database_path} cannot be read: {error}. `ebb doctor` says what is damaged; "
                "`ebb restore` puts a backup in their place"
            ) from error
        except BaseException:
            # The store's threads would keep the process alive.
            await store.close()
            raise

    @classmethod
    async def _over(
        cls,
        store: Store,
        host: EngineHost,
        database_path: Path,
        *,
        model_titles: bool,
        auth_policy: AuthPolicy,
        response_days: int,
        deleted_days: int,
        tenant_weights: Mapping[str, float] | None,
        prefix_rules: PrefixRules,
        accounts: Accounts,
        share_links: bool,
        token_prices: TokenPrices | None,
        secret_digest: bytes,
        shares_replicas: bool,
    ) -> "Services":
        host.storage = store.database.health
        store.database.batches.is_busy = lambda: host.is_computing
        if host.storage.lost is not None:
            logger.error("%s", host.storage.lost)
        ring = KeyRing(store.access, store.keys, store.people, auth_policy, rules=accounts.rules)
        await ring.read()
        changes = Changes()
        shared_runs = SharedRuns(store, lambda run_id: runs.stop_named(run_id), lambda: lease.settled())
        shared_progress = SharedProgress(store.database, lambda: lease.is_alone)
        runs = RunRegistry(store.runs, shared_runs, announce=changes.announce, share=shared_progress.add)
        gates = TenantGates(ring.limits_of, time.monotonic, await store.owed_use.all())
        gate = gates.of(store.tenant)
        turns = Turns(host, store, runs, gate, lambda nodes, tenant: erasure.begin(nodes, tenant))
        titles = TitleMaker(host, store, turns, announce=changes.announce) if model_titles else None
        resumption = Resumption(
            host,
            store,
            runs,
            PlaceLog(database_path.with_name("resumed-places")),
            on_resumed=titles.after if titles is not None else lambda _: None,
        )

        async def take_over() -> None:
            await resumption.take_over()
            if titles is not None:
                await titles.take_over()

        lease = Lease(
            store.database,
            store.servers,
            runs,
            take_over,
            database_path.with_name("server-name"),
            is_ready=lambda: host.status in ("ok", "degraded"),
        )
        await lease.begin(secret_digest)
        shared_changes = SharedChanges(store.database, changes, lambda: lease.is_alone)
        try:
            await store.imports.discard_former()
        except OutageError as error:
            # Conversations of the interrupted import stay hidden until the next start.
            logger.error("the remains of an interrupted import could not be removed: %s", error)
        await resumption.begin(lease.former, claims=lease.claims)
        if titles is not None and lease.claims:
            await titles.begin()
        erasure = KVErasure(host, store, former=lease.former, leads=lambda: lease.leads)
        shared_deletions = SharedDeletions(host, store, runs, erasure, lambda: lease.leads)
        directory = _replica_directory(store) if shares_replicas else None
        await store.database.listen(
            partial(
                _heed,
                lease=lease,
                runs=shared_runs,
                replicas=directory,
                changes=shared_changes,
                deletions=shared_deletions,
            )
        )
        metrics = Metrics(host, lambda: runs.live)
        daily_use = DailyUse(gates, store.daily_use)
        deletions = Deletions(
            host,
            store,
            runs,
            erasure,
            response_days=response_days,
            deleted_days=deleted_days,
            leads=lambda: lease.leads,
        )
        next_prefixes = NextPromptPrefill(host, store, turns, erasure)
        answers = AnswerMemory(store.answers, Owners(tenant_weights))
        prompts = WholePrompts(host, answers, prefix_rules)
        diagnostics = CacheDiagnostics(answers, prefix_rules)
        responses = Responses(
            host=host,
            store=store,
            runs=runs,
            turns=turns,
            prompts=prompts,
            diagnostics=diagnostics,
            erasure=erasure,
            gate=gate,
        )
        continuation = Continuation(host, store, runs, gate, erasure.begin)
        loop_lag = LoopLag(
            metrics.loop_lag.observe,
            metrics.loop_blocks.inc,
            lambda: host.state == "starting",
            lambda: host.is_computing,
        )
        tenant_threads = TenantThreads()
        return cls(
            host=host,
            store=store,
            ring=ring,
            gates=gates,
            use_keeper=UseKeeper(gates, store.owed_use, lambda: lease.is_alone),
            daily_use=daily_use,
            storage_probe=StorageProbe(store.database),
            runs=runs,
            changes=changes,
            erasure=erasure,
            deletions=deletions,
            turns=turns,
            resumption=resumption,
            lease=lease,
            shared_runs=shared_runs,
            replica_directory=directory,
            shared_changes=shared_changes,
            shared_progress=shared_progress,
            shared_deletions=shared_deletions,
            continuation=continuation,
            chat_prefixes=ChatPrefixes(host, store),
            responses=responses,
            answers=answers,
            prompts=prompts,
            diagnostics=diagnostics,
            titles=titles,
            next_prefixes=next_prefixes,
            metrics=metrics,
            loop_lag=loop_lag,
            live=LiveFeed(host),
            administration=Administration(
                host=host,
                store=store,
                ring=ring,
                gates=gates,
                daily_use=daily_use,
                runs=runs,
                delete_kv=shared_deletions.delete_tenant,
            ),
            accounts=accounts,
            password_logins=PasswordLogins(store.passwords, ring, accounts.passwords, accounts.failed),
            directory_logins=DirectoryLogins(accounts.directory, ring, accounts.failed)
            if accounts.directory is not None
            else None,
            saml_logins=SamlLogins(accounts.saml, store.saml_answers) if accounts.saml is not None else None,
            provisioning=_provisioning(accounts.scim, store, ring) if accounts.scim is not None else None,
            documents=DocumentReader(),
            tenant_threads=tenant_threads,
            share_links=share_links,
            shared_pages=SharedPages(tenant_threads),
            token_prices=token_prices,
        )

    @property
    def login_provider(self) -> LoginProvider | None:
        """The OpenID or the SAML provider; None without one."""
        return self.saml_logins or self.accounts.provider

    def of(self, tenant: str) -> "Services":
        """Bind the services to `tenant`.

        Background tasks are shared: they are started and stopped on the instance that `open` returned.
        """
        if tenant == self.store.tenant:
            return self
        bound = self._of_tenants.get(tenant)
        if bound is None:
            bound = self._of_tenants[tenant] = self._bind(tenant)
            if len(self._of_tenants) > MAX_BOUND:
                self._of_tenants.popitem(last=False)
        self._of_tenants.move_to_end(tenant)
        return bound

    def _bind(self, tenant: str) -> "Services":
        store, gate = self.store.of(tenant), self.gates.of(tenant)
        turns = Turns(self.host, store, self.runs, gate, self.erasure.begin)
        return replace(
            self,
            store=store,
            deletions=self.deletions.of(store),
            turns=turns,
            continuation=Continuation(self.host, store, self.runs, gate, self.erasure.begin),
            chat_prefixes=ChatPrefixes(self.host, store),
            responses=Responses(
                host=self.host,
                store=store,
                runs=self.runs,
                turns=turns,
                prompts=self.prompts,
                diagnostics=self.diagnostics,
                erasure=self.erasure,
                gate=gate,
            ),
        )

    def begin(self) -> None:
        """Start the background tasks, which run regardless of requests."""
        self.erasure.start()
        self.deletions.begin()
        self.shared_deletions.begin()
        self.store.upkeep.begin()
        self.loop_lag.begin()
        self.storage_probe.begin()
        self.use_keeper.begin()
        self.daily_use.begin()

    async def close(self) -> None:
        """Wait for the runs to end and close the database. The engine must have been stopped before."""
        self.lease.leave()
        await self.resumption.stop()
        await self.shared_runs.stop()
        await self.shared_changes.stop()
        await self.shared_progress.stop()
        await self.shared_deletions.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                await self.runs.join()
                self.runs.dismiss()
        if self.titles is not None:
            await self.titles.stop()
        self.loop_lag.stop()
        await self.storage_probe.stop()
        self.live.stop()
        self.changes.stop()
        await self.next_prefixes.stop()
        await self.deletions.stop()
        await self.erasure.stop()
        await self.runs.leave()
        await self.lease.stop()
        await self.answers.stop()
        await self.ring.stop()
        await self.use_keeper.stop()
        await self.daily_use.stop()
        self.tenant_threads.close()
        await self.store.close()


def _heed(
    topic: str,
    text: str,
    *,
    lease: Lease,
    runs: SharedRuns,
    replicas: "ReplicaStore | None",
    changes: SharedChanges,
    deletions: SharedDeletions,
) -> None:
    """Follow a notice of another server."""
    lease.heed(topic)
    runs.heed(topic, text)
    if replicas is not None:
        replicas.heed(topic)
    changes.heed(topic, text)
    deletions.heed(topic)


def _replica_directory(store: Store) -> "ReplicaStore":
    # A server without shared replicas starts without the code of replicas.
    from app.storage.replicas import ReplicaStore

    return ReplicaStore(store.database)


def _provisioning(plan: ScimPlan, store: Store, ring: KeyRing) -> "Provisioning":
    # A server without provisioning starts without its libraries.
    from app.provisioning.service import Provisioning

    return Provisioning(store.provisioning, plan, ring.read)


def services_of(request: Request) -> Services:
    """Return the services of the tenant that sent `request`. Not for routes that need no authentication."""
    return server_services(request).of(tenant_of(request))


def server_services(request: Request) -> Services:
    """Return the process-wide services, for routes that touch no tenant's data."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
