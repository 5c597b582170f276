"""Addresses of clusters that are refused. No test needs Ray."""

import pytest

from engine.api.errors import EngineError
from engine.fleet.placement.ray_cluster import check_private, connect


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "fd00::1", "head.example"])
def test_private_addresses_and_names_are_accepted(host: str) -> None:
    check_private(host)


def test_public_address_is_refused() -> None:
    with pytest.raises(EngineError, match=r"8\.8\.8\.8 is a public address"):
        connect("8.8.8.8:6379")
