-- Texts that a tenant keeps under a name, to begin messages with.
CREATE TABLE saved_prompt(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (tenant, name));

CREATE TRIGGER saved_prompt_added AFTER INSERT ON saved_prompt BEGIN
  INSERT INTO tenant_usage(tenant, nbytes)
    VALUES (new.tenant, 256 + length(CAST(new.name AS BLOB)) + length(CAST(new.text AS BLOB)))
    ON CONFLICT(tenant) DO UPDATE SET nbytes = nbytes + excluded.nbytes;
END;
CREATE TRIGGER saved_prompt_changed AFTER UPDATE OF name, text ON saved_prompt BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + length(CAST(new.name AS BLOB)) + length(CAST(new.text AS BLOB))
    - (length(CAST(old.name AS BLOB)) + length(CAST(old.text AS BLOB)))
  WHERE tenant = new.tenant;
END;
CREATE TRIGGER saved_prompt_taken AFTER DELETE ON saved_prompt BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    - (256 + length(CAST(old.name AS BLOB)) + length(CAST(old.text AS BLOB)))
  WHERE tenant = old.tenant;
END;
