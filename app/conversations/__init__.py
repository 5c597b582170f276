"""Conversations: turns, deletions, imports and exports, titles, and the KV of their prefixes."""
