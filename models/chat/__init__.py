"""Chats in a model's own words: templates, reasoning and tool calls."""
