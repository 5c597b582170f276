"""Speculation: drafts from the prompt, and their verification."""
