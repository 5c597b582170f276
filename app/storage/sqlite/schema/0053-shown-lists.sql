-- Lists that the page shows: outside of folders, of one folder, and of the chats with tags. The last columns of the indexes
-- let SQLite count a list without reading its rows.
DROP INDEX conversation_list;
CREATE INDEX conversation_list
  ON conversation(tenant, source, archived, pinned DESC, updated_at DESC, id DESC, temporary, deleted_at)
  WHERE deleted_at IS NULL;
CREATE INDEX conversation_at_top
  ON conversation(tenant, source, archived, (pinned OR folder_id IS NULL), pinned DESC, updated_at DESC, id DESC, folder_id,
    temporary, deleted_at)
  WHERE deleted_at IS NULL;
CREATE INDEX conversation_of_folder
  ON conversation(tenant, folder_id, source, archived, pinned DESC, updated_at DESC, id DESC, temporary, deleted_at)
  WHERE deleted_at IS NULL AND folder_id IS NOT NULL;
CREATE INDEX conversation_tagged
  ON conversation(tenant, source, archived, pinned DESC, updated_at DESC, id DESC)
  WHERE deleted_at IS NULL AND tags IS NOT NULL;
