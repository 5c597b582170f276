"""Redis as a tier below CPU memory: identity, settings and opening."""

import logging
from contextlib import ExitStack
from dataclasses import replace

from cache_tiers.config import TierConfig
from cache_tiers.lower.inspection import InspectionError, TierInspection
from cache_tiers.lower.tier import FoundTier, Progress, SharedTier, TierError
from cache_tiers.redis.address import RedisAddress, parse_redis_url
from cache_tiers.redis.backend import DESCRIPTION, REDIS, RedisBackend
from cache_tiers.redis.companion import RedisCompanion
from cache_tiers.redis.companion_folder import companion_folder, socket_path
from cache_tiers.redis.errors import CompanionError, RedisAddressError, StateDirInUseError
from cache_tiers.redis.server_binary import find_redis_server

logger = logging.getLogger(__name__)


class RedisKind:
    """The Redis tier: a server that the user names, or a companion that this process starts."""

    tier = REDIS
    description = DESCRIPTION
    size_setting = "redis-memory"

    def is_off(self, config: TierConfig) -> bool:
        """See LowerTierKind."""
        return config.redis_url == "off"

    def keeps_blocks(self, config: TierConfig) -> bool:
        """See LowerTierKind."""
        return config.redis_url not in ("auto", "off")

    def find(self, config: TierConfig, progress: Progress, closing: ExitStack) -> FoundTier:
        """See LowerTierKind."""
        if self.is_off(config):
            return FoundTier.off("--redis-url off")
        if config.redis_url != "auto":
            try:
                return _found(parse_redis_url(config.redis_url))
            except RedisAddressError as error:
                raise TierError(f"--redis-url: {error}") from error
        binary = find_redis_server()
        if binary is None:
            why = "no redis-server or valkey-server on PATH; install one and restart"
            logger.warning("Redis is off: %s", why)
            return FoundTier.off(why)
        progress(f"starting Redis ({binary.name})")
        try:
            companion = RedisCompanion(config.state_dir, binary=binary, max_memory=config.redis_memory)
            companion.start()
        except StateDirInUseError as error:
            raise TierError(str(error)) from error
        except CompanionError as error:
            logger.warning("Redis is off: %s", error)
            return FoundTier.off(str(error))
        closing.callback(companion.stop)
        return _found(companion.address)

    def share(self, config: TierConfig, progress: Progress, closing: ExitStack) -> SharedTier:
        """See LowerTierKind. The engines use one companion as if the user had named it."""
        if config.redis_url != "auto":
            return SharedTier(config)
        companion = self.find(config, progress, closing)
        if companion.backend is None:
            return SharedTier(replace(config, redis_url="off"), companion.note)
        return SharedTier(replace(config, redis_url=companion.note))

    def inspect(self, config: TierConfig, secret: bytes) -> TierInspection | None:
        """See LowerTierKind."""
        if self.is_off(config):
            return None
        # The client for people takes a while to import.
        from cache_tiers.redis.inspection import RedisInspection

        if config.redis_url != "auto":
            return RedisInspection(parse_redis_url(config.redis_url), secret, is_companion=False)
        try:
            address = RedisAddress(unix_path=socket_path(companion_folder(config.state_dir)))
        except CompanionError as error:
            raise InspectionError(str(error)) from error
        return RedisInspection(address, secret, is_companion=True)


def _found(address: RedisAddress) -> FoundTier:
    return FoundTier(RedisBackend(address), str(address))
