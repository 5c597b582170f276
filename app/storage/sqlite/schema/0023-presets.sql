-- Settings for chats that a tenant keeps under a name. At most one of a tenant's presets applies to new chats.
CREATE TABLE preset(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  system_prompt TEXT,
  params TEXT NOT NULL,
  model TEXT,
  is_default INTEGER NOT NULL,
  UNIQUE (tenant, name));
CREATE UNIQUE INDEX preset_default ON preset(tenant) WHERE is_default;

CREATE TRIGGER preset_added AFTER INSERT ON preset BEGIN
  INSERT INTO tenant_usage(tenant, nbytes) VALUES (new.tenant, 256 + length(CAST(new.name AS BLOB))
    + coalesce(length(CAST(new.system_prompt AS BLOB)), 0) + length(CAST(new.params AS BLOB)))
    ON CONFLICT(tenant) DO UPDATE SET nbytes = nbytes + excluded.nbytes;
END;
CREATE TRIGGER preset_changed AFTER UPDATE OF name, system_prompt, params ON preset BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + length(CAST(new.name AS BLOB))
    + coalesce(length(CAST(new.system_prompt AS BLOB)), 0) + length(CAST(new.params AS BLOB))
    - (length(CAST(old.name AS BLOB))
    + coalesce(length(CAST(old.system_prompt AS BLOB)), 0) + length(CAST(old.params AS BLOB)))
  WHERE tenant = new.tenant;
END;
CREATE TRIGGER preset_taken AFTER DELETE ON preset BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + length(CAST(old.name AS BLOB))
    + coalesce(length(CAST(old.system_prompt AS BLOB)), 0) + length(CAST(old.params AS BLOB)))
  WHERE tenant = old.tenant;
END;
