"""Grammar of answers on the pages of shared chats: the rules of the page's own parser (`web/src/services/markdown`)."""
