-- Lists that the page shows: outside of folders, of one folder, and of the chats with tags.
CREATE INDEX conversation_at_top ON conversation(tenant, source, archived, pinned DESC, updated_at DESC, id DESC)
  WHERE deleted_at IS NULL AND NOT temporary AND (pinned OR folder_id IS NULL);
CREATE INDEX conversation_of_folder
  ON conversation(tenant, folder_id, source, archived, pinned DESC, updated_at DESC, id DESC) INCLUDE (temporary)
  WHERE deleted_at IS NULL AND folder_id IS NOT NULL;
CREATE INDEX conversation_tagged ON conversation(tenant, source, archived, pinned DESC, updated_at DESC, id DESC)
  WHERE deleted_at IS NULL AND tags IS NOT NULL;
