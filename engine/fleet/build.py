"""Construction of a RemoteEngine from an EngineConfig."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from cache_tiers.tier import TierId
from engine.api.role import Role
from engine.config import EngineConfig
from engine.fleet.placement.interface import Placement
from engine.fleet.placement.local import LocalPlacement
from engine.fleet.placement.shared_place import ReplicaDirectory
from engine.fleet.placement.shared_placement import SharedPlacement
from engine.fleet.placement.shared_starter import LocalStarter, SharedStarter
from engine.fleet.placement.shares import check_divisible, check_machines, check_shareable, shares_of
from engine.fleet.remote_engine import RemoteEngine
from engine.fleet.routing.roles import check_roles, with_roles
from engine.fleet.routing.router import Router
from engine.intake.prefix_keys import TenantSalts
from engine.wiring.draft_model import check_draft_model
from engine.wiring.encoders import without_kv
from engine.wiring.open_tiers import share_lower_tiers
from models.chat.call_syntax.registry import AUTO
from models.chat.format import ChatFormat
from models.retrieval.folder import read_retrieval
from models.tokenizers.text_tokenizer import TextTokenizer, load_tokenizer
from models.weights.fingerprint import model_fingerprint
from models.weights.folder import ModelFolder

TEXT_WINDOWS = 2
"""Tokenizer limit in context windows, so that a refusal can still state the length of a prompt that is too long."""


def build_fleet(
    config: EngineConfig,
    count: int,
    progress: Callable[[str], None],
    ray_address: str = "",
    *,
    roles: Sequence[Role] = (),
    router: Router | None = None,
    salts: TenantSalts | None = None,
) -> RemoteEngine:
    """Prepare `count` replicas of the engine. They begin with `RemoteEngine.start`.

    ray_address: the Ray cluster on whose machines they run; empty for this machine, without Ray.
    roles: role of each replica; empty for "both".
    router: policy of the choice of a replica; None for the one that predicts.
    salts: see RemoteEngine.

    Blocks while the companion Redis starts. Raise EngineError or ModelError.
    """
    check_divisible(config, count, ray_address)
    check_roles(roles, count, config)
    if ray_address:
        check_machines(config)

    def place(whole: EngineConfig, closing: ExitStack) -> Placed:
        placement, configs = _place(whole, count, ray_address, closing)
        return placement, with_roles(configs, roles)

    return _built(config, progress, place, router=router, salts=salts)


def build_shared_fleet(
    config: EngineConfig,
    count: int,
    progress: Callable[[str], None],
    directory: ReplicaDirectory,
    host: str,
    ray_address: str = "",
    *,
    roles: Sequence[Role] = (),
) -> RemoteEngine:
    """Prepare to find or start `count` replicas that several gateways share.

    directory: see `shared_place`.
    host: address of this machine at which replicas listen that this gateway starts.
    ray_address: the Ray cluster on whose machines they run; empty for this machine, without Ray.
    roles: role of each replica; empty for "both".

    Raise EngineError or ModelError.
    """
    check_shareable(config)
    check_divisible(config, count, ray_address)
    if ray_address:
        check_machines(config)
    check_roles(roles, count, config)

    def place(whole: EngineConfig, closing: ExitStack) -> Placed:
        starter, configs = _starter(whole, count, host, ray_address, closing)
        # The file of deletions is this gateway's, which sends what it says.
        configs = [each.with_fields(tenants_file=None) for each in configs]
        return SharedPlacement(directory, config.cache.secret, starter, progress), with_roles(configs, roles)

    return _built(config, progress, place, model=model_fingerprint(config.model.path))


def _built(
    config: EngineConfig,
    progress: Callable[[str], None],
    place: Callable[[EngineConfig, ExitStack], "Placed"],
    *,
    router: Router | None = None,
    model: str = "",
    salts: TenantSalts | None = None,
) -> RemoteEngine:
    """Prepare replicas where `place` puts them, once the servers of lower tiers run."""
    config = without_kv(config)
    check_draft_model(config)
    with ExitStack() as closing:
        tiers, notes = None, dict[TierId, str]()
        if config.cache.tiers is not None:
            tiers, notes = share_lower_tiers(config.cache.tiers, progress, closing)
        tokenizer = _tokenizer(config)
        chat_format = ChatFormat.load(
            config.model.path, tokenizer, None if config.model.tool_format == AUTO else config.model.tool_format
        )
        retrieval = read_retrieval(ModelFolder(config.model.path), tokenizer, config.model.rerank_words)
        placement, configs = place(config.with_fields(tiers=tiers), closing)
        to_close = closing.pop_all()
    return RemoteEngine(
        configs,
        placement,
        progress,
        config=config,
        tokenizer=tokenizer,
        chat_format=chat_format,
        sampling_defaults=ModelFolder(config.model.path).sampling_defaults(),
        retrieval=retrieval,
        tier_notes=notes,
        on_close=to_close.close,
        router=router,
        model=model,
        salts=salts,
    )


Placed = tuple[Placement, list[EngineConfig]]


def _place(config: EngineConfig, count: int, ray_address: str, closing: ExitStack) -> Placed:
    """Return the placement, and the configuration of each replica."""
    if not ray_address:
        return LocalPlacement(), shares_of(config, count)
    _join_cluster(ray_address, closing)
    from engine.fleet.placement.ray_placement import RayPlacement

    # Each machine divides the sizes among its own replicas.
    return RayPlacement(count, config), [config] * count


def _starter(
    config: EngineConfig, count: int, host: str, ray_address: str, closing: ExitStack
) -> tuple[SharedStarter, list[EngineConfig]]:
    """Return the way to start shared replicas, and the configuration of each."""
    if not ray_address:
        return LocalStarter(host), shares_of(config, count)
    _join_cluster(ray_address, closing)
    from engine.fleet.placement.ray_starter import RayStarter

    return RayStarter(count, config.device.kind), [config] * count


def _join_cluster(address: str, closing: ExitStack) -> None:
    # Imported here, since Ray is an extra, and takes two seconds.
    from engine.fleet.placement import ray_cluster

    ray_cluster.connect(address)
    closing.callback(ray_cluster.disconnect)


def _tokenizer(config: EngineConfig) -> TextTokenizer:
    """Load the tokenizer, with a limit if config.json states the window. The replicas know the window exactly."""
    window = config.model.max_model_len or ModelFolder(config.model.path).config().get("max_position_embeddings")
    return load_tokenizer(config.model.path, TEXT_WINDOWS * window if isinstance(window, int) else None)
