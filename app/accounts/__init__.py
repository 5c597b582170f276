"""Accounts of people: login at an OpenID provider or by a trusted proxy, and the rules of their groups."""
