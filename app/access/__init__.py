"""Decisions about who may call the server: keys, logins, hosts, origins and proxies."""
