"""Namespaces of the models' KV, kept in a file: the blocks of a model have names before it is loaded again.

A chat may be deleted while a model that computed some of it was not loaded since the start of the server. The keys of
its blocks follow from the namespace, the tenant's salt and the token ids alone.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from cache_tiers.owners.block_key import KeyNamespace
from engine.intake.prefix_keys import PrefixKeys, TenantSalts
from models.adapters.adapter import Adapter

logger = logging.getLogger(__name__)


class KVNamespaces:
    """The namespace of each model that was ever loaded, by the name of the model. The methods block on the disk.

    path: file of the namespaces. One that cannot be used has none.
    """

    def __init__(self, path: Path, salts: TenantSalts) -> None:
        self._path = path
        self._salts = salts
        self._known: dict[str, Mapping[str, Any]] = _read(path)

    def keys_of(self, model: str) -> PrefixKeys | None:
        """Return the maker of a model's block keys; None if it was never loaded."""
        known = self._known.get(model)
        if known is None:
            return None
        namespace = KeyNamespace(
            **known["namespace"] | {"stages": tuple(known["namespace"]["stages"])}, tenant_salt=b""
        )
        adapters = [Adapter(**each | {"invocation": tuple(each["invocation"])}) for each in known["adapters"]]
        return PrefixKeys(namespace, self._salts, known["public_ids"], adapters=adapters)

    def note(self, model: str, keys: PrefixKeys) -> None:
        """Keep the namespace of a model that was loaded. A file that cannot be written is logged."""
        namespace = {name: value for name, value in asdict(keys.namespace).items() if name != "tenant_salt"}
        public = keys.public.token_ids if keys.public is not None else ()
        known = {
            "namespace": namespace | {"stages": list(namespace["stages"])},
            "public_ids": list(public),
            "adapters": [asdict(each) | {"invocation": list(each.invocation)} for each in keys.adapters.values()],
        }
        if self._known.get(model) == known:
            return
        self._known[model] = known
        draft = self._path.with_suffix(".draft")
        try:
            draft.write_text(json.dumps(self._known))
            draft.replace(self._path)
        except OSError as error:
            logger.error("the names of the models' KV blocks cannot be kept in %s: %s", self._path, error)


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    expected = {each.name for each in fields(KeyNamespace)} - {"tenant_salt"}
    try:
        read = json.loads(path.read_text())
        return {
            name: known for name, known in read.items() if known["namespace"].keys() == expected and "adapters" in known
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        logger.warning("%s cannot be used: %s. Each model is noted again when it is loaded", path, error)
        return {}
