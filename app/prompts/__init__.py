"""Prompts: from messages, tools and earlier answers to token ids."""
