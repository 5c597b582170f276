"""Accounts of people: logins with a password, at an OpenID provider or by a proxy, and the rules of groups."""
