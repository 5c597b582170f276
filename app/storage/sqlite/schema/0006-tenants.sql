-- Whoever has no key is the tenant `local`; so is everything that was there before there were keys.
ALTER TABLE conversation ADD COLUMN tenant TEXT NOT NULL DEFAULT 'local';
DROP INDEX conversation_list;
CREATE INDEX conversation_list ON conversation(tenant, archived, pinned DESC, updated_at DESC, id DESC)
  WHERE deleted_at IS NULL;
CREATE INDEX conversation_tenant ON conversation(tenant, deleted_at, id);
DROP INDEX conversation_origin;
CREATE INDEX conversation_origin ON conversation(tenant, origin) WHERE origin IS NOT NULL;

DROP VIEW shown_message;
CREATE VIEW shown_message AS
  SELECT message.*, conversation.tenant FROM message JOIN conversation ON conversation.id = message.conversation_id
  WHERE message.deleted_at IS NULL AND conversation.deleted_at IS NULL;

ALTER TABLE draft ADD COLUMN tenant TEXT NOT NULL DEFAULT 'local';
DROP INDEX draft_place;
CREATE UNIQUE INDEX draft_place ON draft(tenant, coalesce(conversation_id, ''));

-- A key is shown once; what is kept is a digest of it. Rows of revoked keys stay: that a server once had keys is what
-- keeps it closed.
CREATE TABLE api_key(
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scope TEXT NOT NULL CHECK(scope IN ('user', 'admin')),
  digest BLOB NOT NULL,
  created_at REAL NOT NULL,
  last_used_at REAL,
  revoked_at REAL);
CREATE TABLE login(
  digest BLOB PRIMARY KEY,
  key_id TEXT NOT NULL REFERENCES api_key(id) ON DELETE CASCADE,
  expires_at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX login_key ON login(key_id, expires_at);
-- NULL: without limit.
CREATE TABLE tenant_limits(
  tenant TEXT PRIMARY KEY,
  requests_per_minute INTEGER,
  tokens_per_minute INTEGER,
  concurrent_runs INTEGER,
  conversations INTEGER) WITHOUT ROWID;
