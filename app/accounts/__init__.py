"""Accounts of people: logins with a password, at a directory or a provider, or by a proxy, and the rules of groups."""
