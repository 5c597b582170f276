-- Folders inside folders, and a system prompt for the chats that are begun in a folder. A name is unique in its place.
-- `parent_id` refers to no table: the rows of a copy have no order in which parents come first.
-- The former constraint can go with its table only, and with the table the folders of all conversations.
CREATE TABLE filed AS SELECT id, folder_id FROM conversation WHERE folder_id IS NOT NULL;
CREATE TABLE nested_folder(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  parent_id TEXT,
  system_prompt TEXT);
INSERT INTO nested_folder(id, tenant, name) SELECT id, tenant, name FROM folder;
DROP TRIGGER folder_taken;
DROP TABLE folder;
ALTER TABLE nested_folder RENAME TO folder;
UPDATE conversation SET folder_id = filed.folder_id FROM filed WHERE filed.id = conversation.id;
DROP TABLE filed;
CREATE UNIQUE INDEX folder_name ON folder(tenant, coalesce(parent_id, ''), name);

CREATE TRIGGER folder_added AFTER INSERT ON folder BEGIN
  INSERT INTO tenant_usage(tenant, nbytes) VALUES (new.tenant, 256 + length(CAST(new.name AS BLOB))
    + coalesce(length(CAST(new.system_prompt AS BLOB)), 0))
    ON CONFLICT(tenant) DO UPDATE SET nbytes = nbytes + excluded.nbytes;
END;
CREATE TRIGGER folder_changed AFTER UPDATE OF name, system_prompt ON folder BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    + length(CAST(new.name AS BLOB)) + coalesce(length(CAST(new.system_prompt AS BLOB)), 0)
    - length(CAST(old.name AS BLOB)) - coalesce(length(CAST(old.system_prompt AS BLOB)), 0)
  WHERE tenant = new.tenant;
END;
CREATE TRIGGER folder_taken AFTER DELETE ON folder BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + length(CAST(old.name AS BLOB))
    + coalesce(length(CAST(old.system_prompt AS BLOB)), 0)) WHERE tenant = old.tenant;
END;
