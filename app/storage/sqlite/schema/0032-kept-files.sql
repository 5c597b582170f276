-- Texts of files that a tenant keeps, to attach them to messages again.
CREATE TABLE kept_file(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  characters INTEGER NOT NULL,
  kept_at REAL NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (tenant, name));

CREATE TRIGGER kept_file_added AFTER INSERT ON kept_file BEGIN
  INSERT INTO tenant_usage(tenant, nbytes)
    VALUES (new.tenant, 256 + length(CAST(new.name AS BLOB)) + length(CAST(new.text AS BLOB)))
    ON CONFLICT(tenant) DO UPDATE SET nbytes = nbytes + excluded.nbytes;
END;
CREATE TRIGGER kept_file_taken AFTER DELETE ON kept_file BEGIN
  UPDATE tenant_usage SET nbytes = nbytes
    - (256 + length(CAST(old.name AS BLOB)) + length(CAST(old.text AS BLOB)))
  WHERE tenant = old.tenant;
END;
