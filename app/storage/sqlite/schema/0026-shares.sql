-- Links to a chat up to one message, which anyone can read. Only a hash of the secret in a link is stored.
CREATE TABLE share(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  conversation_id TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  message_id TEXT NOT NULL REFERENCES message(id) ON DELETE CASCADE,
  digest BLOB NOT NULL UNIQUE,
  shows_receipts INTEGER NOT NULL,
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL);
CREATE INDEX share_of_tenant ON share(tenant, created_at);
CREATE INDEX share_of_conversation ON share(conversation_id);
CREATE INDEX share_of_message ON share(message_id);
