"""Keys of the blocks of prompts: the salt of each tenant, its root, and a common root for the public prefix."""

import hmac
import json
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cache_tiers.owners.block_key import BlockKey, KeyNamespace, block_key, extend_keys, own_root
from cache_tiers.owners.owners import PUBLIC, Owners
from engine.api.errors import EngineError
from engine.api.stored_tokens import AnsweredText, Trail
from engine.process.durable_file import write_json
from engine.request.public_prefix import PublicPrefix
from models.adapters.adapter import Adapter


class TenantSalts:
    """Salts, each an HMAC with the server's secret of the tenant's name and its number of deletions. Thread-safe.

    path: file with the counts of tenants that were deleted at least once, under digests of their names. None keeps the
        counts for the lifetime of the process.

    The constructor raises EngineError if the file exists and cannot be used. Without the counts, a tenant could find
    deleted blocks again.
    """

    def __init__(self, secret: bytes, path: Path | None = None) -> None:
        self._secret = secret
        self._path = path
        self._lock = threading.Lock()
        self._generations = _read(path) if path is not None else {}

    def salt(self, tenant: str) -> bytes:
        """Return the tenant's salt, 32 bytes."""
        return self._digest(f"{self.generation(tenant)}:{tenant}".encode())

    @property
    def public_salt(self) -> bytes:
        """Salt of the blocks that all tenants may share, 32 bytes."""
        return self._digest(b"public")

    def rotate(self, tenant: str) -> None:
        """Give the tenant another salt, also after a restart. This blocks on the disk.

        Raise EngineError, with the salt unchanged, if the new one cannot be made durable.
        """
        with self._lock:
            entry = self._entry(tenant)
            generations = {**self._generations, entry: self._generations.get(entry, 0) + 1}
            if self._path is not None:
                _write(self._path, generations)
            self._generations = generations

    def generation(self, tenant: str) -> int:
        """Return the number of the tenant's deletions."""
        return self._generations.get(self._entry(tenant), 0)

    @property
    def generations(self) -> dict[str, int]:
        """Numbers of deletions under digests of the tenants' names, for another process with the same secret."""
        return self._generations

    def adopt_all(self, generations: dict[str, int]) -> None:
        """Take over the numbers of deletions from an owner of a file, unless higher ones are known."""
        with self._lock:
            known = self._generations
            self._generations = known | {entry: max(n, known.get(entry, 0)) for entry, n in generations.items()}

    def adopt(self, tenant: str, generation: int) -> None:
        """Take over a number of deletions that an owner of a file has made durable."""
        self.adopt_all({self._entry(tenant): generation})

    def _entry(self, tenant: str) -> str:
        return self._digest(b"name:" + tenant.encode()).hex()

    def _digest(self, message: bytes) -> bytes:
        return hmac.digest(self._secret, message, "sha256")


def _read(path: Path) -> dict[str, int]:
    try:
        generations = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise EngineError(f"the file of deleted tenants {path} cannot be read: {error.strerror or error}") from error
    except ValueError:
        generations = None
    if not isinstance(generations, dict) or not all(type(count) is int for count in generations.values()):
        raise EngineError(
            f"the file of deleted tenants {path} is damaged. Restore it, or delete it together with the secret, which "
            "makes all earlier blocks unusable."
        )
    return generations


def _write(path: Path, generations: dict[str, int]) -> None:
    try:
        write_json(path, generations)
    except OSError as error:
        raise EngineError(
            f"the tenant was not deleted: {path} cannot be written: {error.strerror or error}. Try again."
        ) from error


class PrefixKeys:
    """Maker of block keys. Equal namespaces and salts make equal keys, in any process.

    namespace: complete except for the tenant's salt.
    salts: salts of the tenants.
    public_ids: token ids. Prompts that begin with all of them share their full blocks with every tenant.
    owners: learns which tenant the keys of a prompt belong to.
    adapters: adapters that may compute blocks, without those that change no K or V.
    """

    def __init__(
        self,
        namespace: KeyNamespace,
        salts: TenantSalts,
        public_ids: Sequence[int] = (),
        owners: Owners | None = None,
        adapters: Collection[Adapter] = (),
    ) -> None:
        self.namespace = namespace
        self._public_ids = public_ids
        self._salts = salts
        self._owners = owners if owners is not None else Owners()
        common = replace(namespace, tenant_salt=salts.public_salt)
        self._owners.note(common.owner, PUBLIC)
        self.public = PublicPrefix.of(public_ids, common) if public_ids else None
        self.adapters = dict[str, Adapter]()
        self._adapted_public = dict[str, PublicPrefix]()
        for each in adapters:
            self.add_adapter(each)

    def add_adapter(self, adapter: Adapter) -> None:
        """Make keys under an adapter too. Blocks may have to be erased after the adapter was unloaded."""
        if not adapter.changes_kv or adapter.digest in self.adapters:
            return
        if self._public_ids:
            common = replace(self.namespace, tenant_salt=self._salts.public_salt, adapter=adapter.digest)
            self._adapted_public[adapter.digest] = PublicPrefix.of(adapter.lead(self._public_ids), common)
        # Other threads may be reading the former ones.
        self.adapters = {**self.adapters, adapter.digest: adapter}

    def of(
        self, token_ids: Sequence[int], tenant: str, adapter: Adapter | None = None, num_prompt: int | None = None
    ) -> list[BlockKey]:
        """Return the keys of the full blocks of a tenant's prompt that begins with these tokens.

        adapter: the one that computes them; None for the base model. The prompt gets the virtual tokens of a
            prompt adapter.
        num_prompt: number of tokens of the prompt, which an answer may follow; None for all.
        """
        first = adapter.first(token_ids[:num_prompt]) if adapter is not None else None
        ids = adapter.lead(token_ids) if adapter is not None else token_ids
        public, root = self.start(ids, tenant, adapter, first)
        return self.extend(root, public, ids)

    def start(
        self, token_ids: Sequence[int], tenant: str, adapter: Adapter | None = None, first: int | None = None
    ) -> tuple[PublicPrefix | None, BlockKey]:
        """Return the blocks that others may share, if there are any, and the parent of the first block after them.

        token_ids: with the virtual tokens of the adapter.
        adapter, first: the adapter, and the position of the first token that it changes; None for the base model. The
            blocks before an activated adapter's first token are those of the base model.
        """
        if adapter is None or first is None or not adapter.changes_kv:
            public = self.public_part(token_ids)
            return public, self.root(tenant, public)
        if not adapter.invocation:
            public = self.public_part(token_ids, adapter.digest)
            return public, self.root(tenant, public, adapter.digest)
        size = self.namespace.block_size
        before = token_ids[: first // size * size]
        public, base_root = self.start(before, tenant)
        keys = self.extend(base_root, public, before)
        # Equal tokens in the first adapted block may be adapted from different places on: from an invocation that ends
        # behind the block, or from one within it.
        adapted = self.root(tenant, None, f"{adapter.digest} from {first % size}")
        if not keys:
            return None, own_root(base_root, adapted)
        top = public.root_key if public is not None else base_root
        return PublicPrefix(tuple(before), top, tuple(keys)), own_root(keys[-1], adapted)

    def public_part(self, token_ids: Sequence[int], adapter: str = "") -> PublicPrefix | None:
        """Return the public prefix if the tokens begin with it, else None. adapter: see `root`."""
        public = self._adapted_public.get(adapter) if adapter else self.public
        return public if public is not None and public.begins(token_ids) else None

    def root(self, tenant: str, public: PublicPrefix | None, adapter: str = "") -> BlockKey:
        """Return the parent key of the first block that is the tenant's own, after `public` if there is one.

        adapter: digest of the adapter that computes the blocks; empty for the base model.
        """
        namespace = replace(self.namespace, tenant_salt=self._salts.salt(tenant), adapter=adapter)
        root = namespace.root()
        self._owners.note(namespace.owner, tenant)
        return own_root(public.keys[-1], root) if public is not None else root

    def extend(
        self,
        root: BlockKey,
        public: PublicPrefix | None,
        token_ids: Sequence[int],
        known: Sequence[BlockKey] = (),
    ) -> list[BlockKey]:
        """Return the keys of the full blocks. `known` holds the first of them, public ones included, if available."""
        size, before = self.namespace.block_size, known or (public.keys if public is not None else ())
        own = len(before) > (len(public.keys) if public is not None else 0)
        parent = before[-1] if own else root
        return [*before, *extend_keys(parent, token_ids[len(before) * size :], size)]

    def of_trails(self, trails: Sequence[Trail], tenant: str) -> list[BlockKey]:
        """Return the keys of the full and partly filled blocks that only these trails of a tenant use.

        An adapter may have computed any part of a trail, so the keys under each adapter are among them.
        """
        # Branches of one conversation share a prefix, so the same key may occur in several trails.
        return list(dict.fromkeys(key for trail in trails for key in self._of_trail(trail, tenant)))

    def _of_trail(self, trail: Trail, tenant: str) -> Iterator[BlockKey]:
        yield from self.of_trail(trail, *self.start(trail.token_ids, tenant))
        for adapter in self.adapters.values():
            # Each question of a chat may have activated the adapter.
            places = adapter.occurrences(trail.token_ids) if adapter.invocation else (0,)
            led = replace(
                trail,
                token_ids=adapter.lead(trail.token_ids),
                num_shared=adapter.num_virtual + trail.num_shared,
                ends=[adapter.num_virtual + end for end in trail.ends],
            )
            for first in places:
                yield from self.of_trail(led, *self.start(led.token_ids, tenant, adapter, first))

    def of_trail(self, trail: Trail, public: PublicPrefix | None, root: BlockKey) -> list[BlockKey]:
        """Return the keys of the full and then of the partly filled blocks that only this trail of a tenant uses.

        public, root: see `start`.
        """
        size, ids = self.namespace.block_size, trail.token_ids
        full = self.extend(root, public, ids)
        first = len(public.keys) if public is not None else 0
        partials = [
            block_key(full[end // size - 1] if end // size > first else root, ids[end // size * size : end])
            for end in trail.ends
            if end > trail.num_shared and end % size and end // size >= first
        ]
        return full[max(first, trail.num_shared // size) :] + partials

    def of_answers(self, text: AnsweredText, tenant: str) -> list[frozenset[BlockKey]]:
        """Return, for each answer of a text, the keys of its full blocks; if there are none, of its part of one.

        The keys are those that an erasure of the answer names (`of_trails`).
        """
        size, ids = self.namespace.block_size, text.token_ids
        public, root = self.start(ids, tenant)
        full, keys = self.extend(root, public, ids), list[frozenset[BlockKey]]()
        for start, stop in text.spans:
            # The KV of an answer's last token is never computed.
            first, end = start // size, (stop - 1) // size
            parent = full[end - 1] if end else root
            own = full[first:end] or [block_key(parent, ids[end * size : stop - 1])]
            keys.append(frozenset(own))
        return keys
