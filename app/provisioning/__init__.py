"""Provisioning of people and groups by a provider (SCIM 2.0, RFC 7643 and RFC 7644)."""
