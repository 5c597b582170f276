"""Logins at real servers of other makers: a directory and a SAML provider. `make test-logins` runs them."""
