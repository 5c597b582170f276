"""Places of shared replicas: Ray, and addresses of private networks. All others are refused."""

import pytest

from app.config.shared_replicas import parse_shared_replicas


@pytest.mark.parametrize("text", ["ray", "127.0.0.1", "10.0.0.7", "::1", "fd00::7"])
def test_ray_and_private_addresses_are_accepted(text: str) -> None:
    assert parse_shared_replicas(text) == text


@pytest.mark.parametrize("text", ["", "localhost", "0.0.0.0", "::", "8.8.8.8", "10.0.0.7:80"])
def test_names_ports_and_public_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_shared_replicas(text)
