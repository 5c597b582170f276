-- What decides on access, as servers read it: each changed row, by its id, digest or tenant, and the last 5000 changes
-- (app/storage/access.py).
CREATE TABLE access_change(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  mark TEXT NOT NULL DEFAULT (lower(hex(randomblob(8)))),
  kind TEXT NOT NULL,
  name TEXT NOT NULL);
-- A place from which the first server reads.
INSERT INTO access_change(kind, name) VALUES ('', '');
CREATE TRIGGER access_change_added AFTER INSERT ON access_change BEGIN
  DELETE FROM access_change WHERE number <= new.number - 5000;
END;
CREATE TRIGGER api_key_added AFTER INSERT ON api_key BEGIN
  INSERT INTO access_change(kind, name) VALUES ('api_key', new.id);
END;
CREATE TRIGGER api_key_changed AFTER UPDATE ON api_key BEGIN
  INSERT INTO access_change(kind, name) VALUES ('api_key', new.id);
END;
CREATE TRIGGER api_key_removed AFTER DELETE ON api_key BEGIN
  INSERT INTO access_change(kind, name) VALUES ('api_key', old.id);
END;
CREATE TRIGGER login_added AFTER INSERT ON login BEGIN
  INSERT INTO access_change(kind, name) VALUES ('login', lower(hex(new.digest)));
END;
CREATE TRIGGER login_changed AFTER UPDATE ON login BEGIN
  INSERT INTO access_change(kind, name) VALUES ('login', lower(hex(new.digest)));
END;
CREATE TRIGGER login_removed AFTER DELETE ON login BEGIN
  INSERT INTO access_change(kind, name) VALUES ('login', lower(hex(old.digest)));
END;
CREATE TRIGGER person_added AFTER INSERT ON person BEGIN
  INSERT INTO access_change(kind, name) VALUES ('person', new.id);
END;
CREATE TRIGGER person_changed AFTER UPDATE ON person BEGIN
  INSERT INTO access_change(kind, name) VALUES ('person', new.id);
END;
CREATE TRIGGER person_removed AFTER DELETE ON person BEGIN
  INSERT INTO access_change(kind, name) VALUES ('person', old.id);
END;
CREATE TRIGGER person_session_added AFTER INSERT ON person_session BEGIN
  INSERT INTO access_change(kind, name) VALUES ('person_session', lower(hex(new.digest)));
END;
CREATE TRIGGER person_session_changed AFTER UPDATE ON person_session BEGIN
  INSERT INTO access_change(kind, name) VALUES ('person_session', lower(hex(new.digest)));
END;
CREATE TRIGGER person_session_removed AFTER DELETE ON person_session BEGIN
  INSERT INTO access_change(kind, name) VALUES ('person_session', lower(hex(old.digest)));
END;
CREATE TRIGGER tenant_limits_added AFTER INSERT ON tenant_limits BEGIN
  INSERT INTO access_change(kind, name) VALUES ('tenant_limits', new.tenant);
END;
CREATE TRIGGER tenant_limits_changed AFTER UPDATE ON tenant_limits BEGIN
  INSERT INTO access_change(kind, name) VALUES ('tenant_limits', new.tenant);
END;
CREATE TRIGGER tenant_limits_removed AFTER DELETE ON tenant_limits BEGIN
  INSERT INTO access_change(kind, name) VALUES ('tenant_limits', old.tenant);
END;

CREATE INDEX api_key_tenant ON api_key(tenant);
CREATE INDEX api_key_age ON api_key(created_at, id);
CREATE INDEX person_age ON person(created_at, id);
CREATE INDEX login_age ON login(expires_at);
CREATE INDEX person_session_age ON person_session(expires_at);
