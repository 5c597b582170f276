"""Keys of the blocks of prompts: a root per tenant, and a common one for the public prefix."""

from collections.abc import Sequence
from dataclasses import replace

from cache_tiers.owners.block_key import BlockKey, KeyNamespace, block_key, extend_keys, own_root
from cache_tiers.owners.owners import PUBLIC, Owners
from engine.api.stored_tokens import Trail
from engine.intake.tenants import TenantSalts
from engine.request.public_prefix import PublicPrefix


class PrefixKeys:
    """Maker of block keys. Equal namespaces and salts make equal keys, in any process.

    namespace: complete except for the tenant's salt.
    salts: salts of the tenants.
    public_ids: token ids. Prompts that begin with all of them share their full blocks with every tenant.
    owners: learns which tenant the keys of a prompt belong to.
    """

    def __init__(
        self,
        namespace: KeyNamespace,
        salts: TenantSalts,
        public_ids: Sequence[int] = (),
        owners: Owners | None = None,
    ) -> None:
        self.namespace = namespace
        self._salts = salts
        self._owners = owners if owners is not None else Owners()
        common = replace(namespace, tenant_salt=salts.public_salt)
        self._owners.note(common.owner, PUBLIC)
        self.public = PublicPrefix.of(public_ids, common) if public_ids else None

    def of(self, token_ids: Sequence[int], tenant: str) -> list[BlockKey]:
        """Return the keys of the full blocks of a tenant's prompt that begins with these tokens."""
        public = self.public_part(token_ids)
        return self.extend(self.root(tenant, public), public, token_ids)

    def public_part(self, token_ids: Sequence[int]) -> PublicPrefix | None:
        """Return the public prefix if the tokens begin with it, else None."""
        return self.public if self.public is not None and self.public.begins(token_ids) else None

    def root(self, tenant: str, public: PublicPrefix | None) -> BlockKey:
        """Return the parent key of the first block that is the tenant's own, after `public` if there is one."""
        namespace = replace(self.namespace, tenant_salt=self._salts.salt(tenant))
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
        """Return the keys of the full and partly filled blocks that only these trails of a tenant use."""
        # Branches of one conversation share a prefix, so the same key may occur in several trails.
        return list(dict.fromkeys(key for trail in trails for key in self.of_trail(trail, tenant)))

    def of_trail(self, trail: Trail, tenant: str) -> list[BlockKey]:
        """Return the keys of the full and then of the partly filled blocks that only this trail of a tenant uses."""
        size, ids = self.namespace.block_size, trail.token_ids
        public = self.public_part(ids)
        root = self.root(tenant, public)
        full = self.extend(root, public, ids)
        first = len(public.keys) if public is not None else 0
        partials = [
            block_key(full[end // size - 1] if end // size > first else root, ids[end // size * size : end])
            for end in trail.ends
            if end > trail.num_shared and end % size and end // size >= first
        ]
        return full[max(first, trail.num_shared // size) :] + partials
