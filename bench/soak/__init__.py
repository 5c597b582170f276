"""A server under everything at once for half an hour: many chats, small tiers, and always something that breaks."""
