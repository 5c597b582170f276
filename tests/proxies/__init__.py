"""Proxies of other makers in front of the server: nginx, HAProxy and Caddy. `make test-proxies` runs these tests."""
