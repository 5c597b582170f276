"""Everything that is kept in the database, by subject, as one tenant sees it."""

from dataclasses import dataclass
from pathlib import Path

from app.config.extras import install_command
from app.domain.library import Preset, SavedPrompt
from app.storage.access import AccessStore
from app.storage.answers import AnswerStore
from app.storage.conversations import ConversationStore
from app.storage.daily_use import DailyUseStore
from app.storage.database import Database
from app.storage.deletions import DeletionStore
from app.storage.drafts import DraftStore
from app.storage.due_titles import DueTitleStore
from app.storage.erasures import ErasureStore
from app.storage.errors import UnusableDatabaseError
from app.storage.finding import FindingStore
from app.storage.folders import FolderStore
from app.storage.former_chats import FormerChats
from app.storage.heads import HeadStore
from app.storage.imports import ImportStore
from app.storage.items import ItemStore
from app.storage.keys import KeyStore
from app.storage.library import PRESETS, SAVED_PROMPTS, KeptFileStore
from app.storage.limits import LimitStore
from app.storage.messages import MessageStore
from app.storage.named_rows import NamedRows
from app.storage.next_prefixes import NextPrefixStore
from app.storage.owed_erasures import OwedErasureStore
from app.storage.owed_use import OwedUseStore
from app.storage.passwords import PasswordStore
from app.storage.people import PersonStore
from app.storage.preferences import PreferenceStore
from app.storage.provisioning import ProvisioningStore
from app.storage.ratings import RatingStore
from app.storage.recently_deleted import RecentlyDeletedStore
from app.storage.responses import ResponseStore
from app.storage.runs import RunStore
from app.storage.saml_answers import SamlAnswerStore
from app.storage.search import SearchStore
from app.storage.server_clock import ServedTime
from app.storage.servers import ServerStore
from app.storage.shares import ShareStore
from app.storage.sqlite.database import SqliteDatabase
from app.storage.tenant_deletions import TenantDeletionStore
from app.storage.tenants import TenantStore
from app.storage.token_index import TokenIndex
from app.storage.tree import TreeStore
from app.storage.upkeep import Upkeep
from app.storage.usage import UsageStore
from app.tenants.name import LOCAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The stores of one tenant, for which other tenants' rows do not exist. `tokens`, `access`, `keys`, `people`,
    `passwords`, `saml_answers`, `provisioning`, `limits`, `tenants`, `owed_use`, `daily_use`, `answers`, `due_titles`,
    `servers`, `erasures`, `owed_erasures`, `tenant_deletions` and `upkeep` are the server's."""

    database: Database
    tenant: str
    conversations: ConversationStore
    messages: MessageStore
    tree: TreeStore
    ratings: RatingStore
    runs: RunStore
    deletions: DeletionStore
    recently_deleted: RecentlyDeletedStore
    drafts: DraftStore
    folders: FolderStore
    presets: NamedRows[Preset]
    saved_prompts: NamedRows[SavedPrompt]
    kept_files: KeptFileStore
    preferences: PreferenceStore
    shares: ShareStore
    heads: HeadStore
    search: SearchStore
    finding: FindingStore
    imports: ImportStore
    items: ItemStore
    responses: ResponseStore
    usage: UsageStore
    tokens: TokenIndex
    access: AccessStore
    keys: KeyStore
    people: PersonStore
    passwords: PasswordStore
    saml_answers: SamlAnswerStore
    provisioning: ProvisioningStore
    limits: LimitStore
    tenants: TenantStore
    owed_use: OwedUseStore
    daily_use: DailyUseStore
    answers: AnswerStore
    next_prefixes: NextPrefixStore
    served: ServedTime
    former_chats: FormerChats
    due_titles: DueTitleStore
    servers: ServerStore
    erasures: ErasureStore
    owed_erasures: OwedErasureStore
    tenant_deletions: TenantDeletionStore
    upkeep: Upkeep

    @classmethod
    async def open_postgres(cls, url: str, *, serves: bool = True) -> "Store":
        """Open the database at `url`, for clients without a key. Raise UnusableDatabaseError.

        serves: whether this is a server; False for a command, which may run at the same time as any servers.
        """
        try:
            # A server on SQLite starts without psycopg, which is an extra.
            from app.storage.postgres.database import COMMAND, SERVER, PostgresDatabase
        except ImportError as error:
            raise UnusableDatabaseError(
                f"--database-url needs psycopg: {install_command('postgres')} ({error})"
            ) from error

        database = await PostgresDatabase.open(url, setup=SERVER if serves else COMMAND)
        return cls._bound(database, Upkeep(database), LOCAL)

    @classmethod
    async def open(cls, path: Path) -> "Store":
        """Open or create the file at `path`, for clients without a key. Raise UnusableDatabaseError."""
        database = await SqliteDatabase.open(path)
        return cls._bound(database, Upkeep(database), LOCAL)

    def of(self, tenant: str) -> "Store":
        """Return the same file as another tenant sees it. The store that was opened is the one to be closed."""
        return self if tenant == self.tenant else self._bound(self.database, self.upkeep, tenant)

    @classmethod
    def _bound(cls, database: Database, upkeep: Upkeep, tenant: str) -> "Store":
        return cls(
            database=database,
            tenant=tenant,
            conversations=ConversationStore(database, tenant),
            messages=MessageStore(database, tenant),
            tree=TreeStore(database, tenant),
            ratings=RatingStore(database, tenant),
            runs=RunStore(database, tenant),
            deletions=DeletionStore(database, tenant),
            recently_deleted=RecentlyDeletedStore(database, tenant),
            drafts=DraftStore(database, tenant),
            folders=FolderStore(database, tenant),
            presets=NamedRows(database, tenant, PRESETS),
            saved_prompts=NamedRows(database, tenant, SAVED_PROMPTS),
            kept_files=KeptFileStore(database, tenant),
            preferences=PreferenceStore(database, tenant),
            shares=ShareStore(database, tenant),
            heads=HeadStore(database, tenant),
            search=SearchStore(database, tenant),
            finding=FindingStore(database, tenant),
            imports=ImportStore(database, tenant),
            items=ItemStore(database, tenant),
            responses=ResponseStore(database, tenant),
            usage=UsageStore(database, tenant),
            tokens=TokenIndex(database),
            access=AccessStore(database),
            keys=KeyStore(database),
            people=PersonStore(database),
            passwords=PasswordStore(database),
            saml_answers=SamlAnswerStore(database),
            provisioning=ProvisioningStore(database),
            limits=LimitStore(database),
            tenants=TenantStore(database),
            owed_use=OwedUseStore(database),
            daily_use=DailyUseStore(database),
            answers=AnswerStore(database),
            next_prefixes=NextPrefixStore(database),
            served=ServedTime(database),
            former_chats=FormerChats(database),
            due_titles=DueTitleStore(database),
            servers=ServerStore(database),
            erasures=ErasureStore(database),
            owed_erasures=OwedErasureStore(database),
            tenant_deletions=TenantDeletionStore(database),
            upkeep=upkeep,
        )

    async def close(self) -> None:
        """End the upkeep, and close the connections."""
        await self.upkeep.stop()
        await self.database.close()
