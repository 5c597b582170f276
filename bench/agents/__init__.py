"""Prefix reuse of coding agents: the real programs, each in a conversation of several turns."""
