-- Folders inside folders, and a system prompt for the chats that are begun in a folder. A name is unique in its place.
-- `parent_id` refers to no table: the rows of a copy have no order in which parents come first.
ALTER TABLE folder ADD COLUMN parent_id TEXT COLLATE "C";
ALTER TABLE folder ADD COLUMN system_prompt TEXT;
ALTER TABLE folder DROP CONSTRAINT folder_tenant_name_key;
CREATE UNIQUE INDEX folder_name ON folder(tenant, coalesce(parent_id, ''), name);

CREATE OR REPLACE FUNCTION folder_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO tenant_usage(tenant, nbytes)
    VALUES (new.tenant, 256 + octet_length(new.name) + coalesce(octet_length(new.system_prompt), 0))
    ON CONFLICT(tenant) DO UPDATE SET nbytes = tenant_usage.nbytes + excluded.nbytes;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION folder_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    + octet_length(new.name) + coalesce(octet_length(new.system_prompt), 0)
    - octet_length(old.name) - coalesce(octet_length(old.system_prompt), 0)
  WHERE tenant = new.tenant;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION folder_taken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE tenant_usage
    SET nbytes = nbytes - (256 + octet_length(old.name) + coalesce(octet_length(old.system_prompt), 0))
    WHERE tenant = old.tenant;
  RETURN NULL;
END $$;
DROP TRIGGER folder_changed ON folder;
CREATE TRIGGER folder_changed AFTER UPDATE OF name, system_prompt ON folder
  FOR EACH ROW EXECUTE FUNCTION folder_changed();
