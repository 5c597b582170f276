-- Whether the tiers may hold KV of a conversation. A deleted one loses its KV before its text.
ALTER TABLE conversation ADD COLUMN keeps_kv INTEGER NOT NULL DEFAULT 1;
CREATE INDEX conversation_deleted_with_kv ON conversation(deleted_at) WHERE deleted_at IS NOT NULL AND keeps_kv;
CREATE INDEX conversation_recently_deleted ON conversation(tenant, deleted_at DESC, id DESC)
  WHERE deleted_at IS NOT NULL;
