"""Services that the routes work with: opened once at startup (`app.open_services`), reached through the request."""

from collections import OrderedDict
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from starlette.requests import Request

from app.access.administration import Administration
from app.access.daily_use import DailyUse
from app.access.directory_logins import DirectoryLogins
from app.access.key_ring import KeyRing
from app.access.password_logins import PasswordLogins
from app.access.rate_limit_sync import RateLimitSync
from app.access.saml_logins import SamlLogins
from app.accounts.accounts import Accounts
from app.accounts.login_provider import LoginProvider
from app.apis.responses.service import Responses
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
from app.prompts.stateless import WholePrompts
from app.runs.changes import Changes, SharedChanges
from app.runs.lease import Lease
from app.runs.live_feed import LiveFeed
from app.runs.resumption import Resumption
from app.runs.service import RunRegistry
from app.runs.shared_progress import SharedProgress
from app.runs.shared_runs import SharedRuns
from app.runs.storage_probe import StorageProbe
from app.storage.notices import NoticeHandlers
from app.storage.store import Store
from app.tenants.gate import TenantGate, TenantGates
from app.tenants.principal import tenant_of
from app.tenants.tenant_threads import TenantThreads

if TYPE_CHECKING:
    from app.provisioning.service import Provisioning
    from app.storage.replicas import ReplicaStore

MAX_BOUND = 256
"""Tenants whose services are kept. Those of another tenant are bound again, which takes less than a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessServices:
    """Keys, people and limits: the clients that may enter, and how much each tenant may use.

    directory_logins: None without a directory of people.
    saml_logins: None without a SAML provider.
    provisioning: None on a server without SCIM.
    """

    ring: KeyRing
    gates: TenantGates
    rate_limit_sync: RateLimitSync
    daily_use: DailyUse
    administration: Administration
    accounts: Accounts
    password_logins: PasswordLogins
    directory_logins: DirectoryLogins | None
    saml_logins: SamlLogins | None
    provisioning: "Provisioning | None"

    @property
    def login_provider(self) -> LoginProvider | None:
        """The OpenID or the SAML provider; None without one."""
        return self.saml_logins or self.accounts.provider


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordServices:
    """Storage and runs, here and at the other servers of the database.

    shared_runs: runs that this server does not work on.
    replica_directory: None unless the servers of the database share replicas of the engine.
    """

    storage_probe: StorageProbe
    runs: RunRegistry
    changes: Changes
    resumption: Resumption
    lease: Lease
    shared_runs: SharedRuns
    shared_changes: SharedChanges
    shared_progress: SharedProgress
    shared_deletions: SharedDeletions
    replica_directory: "ReplicaStore | None"

    @property
    def notice_handlers(self) -> list[NoticeHandlers]:
        """Handlers of the notices of other servers."""
        owners = (self.lease, self.shared_runs, self.shared_changes, self.shared_deletions, self.replica_directory)
        return [owner.notice_handlers for owner in owners if owner is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServices:
    """All that belongs to the model, its prompts and its KV.

    titles: None where chats are titled with words of the first message.
    """

    host: EngineHost
    erasure: KVErasure
    answers: AnswerMemory
    prompts: WholePrompts
    diagnostics: CacheDiagnostics
    titles: TitleMaker | None
    next_prefixes: NextPromptPrefill
    phrases: PhraseRecall
    pinned_kv: PinnedKV


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Services of the whole process, and the parts of them that are bound to one tenant.

    Bound to a tenant: `store`, `turns`, `continuation`, `chat_prefixes`, `responses` and `deletions`. The method `of`
    binds them to another tenant. `close` closes the store, but leaves the engine to its owner.

    share_links: whether people can make links to chats that anyone can read.
    shared_pages: the pages of such links, of all tenants.
    token_prices: None on a server that charges nothing.
    closing: what `close` does, the last one first.
    """

    store: Store
    turns: Turns
    continuation: Continuation
    chat_prefixes: ChatPrefixes
    responses: Responses
    deletions: Deletions
    access: AccessServices
    records: RecordServices
    model: ModelServices
    metrics: Metrics
    loop_lag: LoopLag
    live: LiveFeed
    documents: DocumentReader
    tenant_threads: TenantThreads
    share_links: bool
    shared_pages: SharedPages
    token_prices: TokenPrices | None
    closing: AsyncExitStack = field(repr=False)
    _of_tenants: OrderedDict[str, "Services"] = field(default_factory=OrderedDict, repr=False)
    """Services that `of` has bound, by tenant, the last used ones last. Only the database and the gates have state."""

    def of(self, tenant: str) -> "Services":
        """Bind the services to `tenant`.

        Background tasks are shared: they are started and stopped on the instance that was opened.
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
        store, gate = self.store.of(tenant), self.access.gates.of(tenant)
        runs, model = self.records.runs, self.model
        turns = Turns(model.host, store, runs, gate, model.erasure.begin)
        return replace(
            self,
            store=store,
            deletions=self.deletions.of(store),
            turns=turns,
            continuation=Continuation(model.host, store, runs, gate, model.erasure.begin),
            chat_prefixes=ChatPrefixes(model.host, store),
            responses=responses_of(store, gate, runs, turns, model),
        )

    def begin(self) -> None:
        """Start the background tasks, which run regardless of requests."""
        self.model.erasure.start()
        self.model.phrases.start()
        self.model.pinned_kv.start()
        self.deletions.begin()
        self.records.shared_deletions.begin()
        self.store.upkeep.begin()
        self.loop_lag.begin()
        self.records.storage_probe.begin()
        self.access.rate_limit_sync.begin()
        self.access.daily_use.begin()

    async def close(self) -> None:
        """Wait for the runs to end and close the database. The engine must have been stopped before."""
        await self.closing.aclose()


def responses_of(store: Store, gate: TenantGate, runs: RunRegistry, turns: Turns, model: ModelServices) -> Responses:
    """Make the responses of the tenant of `store`."""
    return Responses(
        host=model.host,
        store=store,
        runs=runs,
        turns=turns,
        prompts=model.prompts,
        diagnostics=model.diagnostics,
        erasure=model.erasure,
        gate=gate,
    )


def services_of(request: Request) -> Services:
    """Return the services of the tenant that sent `request`. Not for routes that need no authentication."""
    return server_services(request).of(tenant_of(request))


def server_services(request: Request) -> Services:
    """Return the process-wide services, for routes that touch no tenant's data."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
