"""The check of settings for shared replicas."""

import pytest

from app.config.settings import load_settings
from app.doctor.shared_replicas_check import check_shared_replicas

SHARED = {"shared-replicas": "127.0.0.1", "database-url": "postgresql:///ebb", "redis-url": "off"}


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ({}, "ok"),
        (SHARED, "ok"),
        ({"shared-replicas": "127.0.0.1", "redis-url": "off"}, "fail"),
        ({**SHARED, "redis-url": "auto"}, "fail"),
        ({**SHARED, "redis-url": "unix:///run/redis.sock"}, "ok"),
        ({**SHARED, "redis-url": "unix:///run/redis.sock", "shared-replicas": "10.0.0.7"}, "warn"),
        ({**SHARED, "shared-replicas": "ray", "ray-address": "auto"}, "ok"),
        ({**SHARED, "shared-replicas": "ray"}, "fail"),
        ({**SHARED, "ray-address": "auto"}, "fail"),
    ],
)
def test_settings_that_servers_cannot_share_are_found(flags: dict[str, str], level: str) -> None:
    assert check_shared_replicas(load_settings(flags, environ={})).level == level
