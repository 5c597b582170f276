"""Logins at a SAML 2.0 provider (OASIS, Web Browser SSO Profile): requests by redirect, responses by POST."""
