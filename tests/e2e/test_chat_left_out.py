"""Chats that continue after their messages fill the context window."""

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage

# Three of these do not fit into the window of the server under test.
