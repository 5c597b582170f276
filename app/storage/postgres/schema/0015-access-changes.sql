-- What decides on access, as servers read it: each changed row, by its id, digest or tenant, and the last 5000 changes
-- (app/storage/access.py).
CREATE TABLE access_change(
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mark TEXT NOT NULL DEFAULT md5(random()::text),
  kind TEXT NOT NULL,
  name TEXT COLLATE "C" NOT NULL);
-- A place from which the first server reads.
INSERT INTO access_change(kind, name) VALUES ('', '');
-- The lock of Ebb's transactions, so that numbers are committed in their order even if another program writes.
CREATE FUNCTION access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed RECORD;
  changed_name TEXT;
  added BIGINT;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('ebb write ' || TG_TABLE_SCHEMA, 0));
  IF TG_OP = 'DELETE' THEN changed := old; ELSE changed := new; END IF;
  CASE TG_TABLE_NAME
    WHEN 'login', 'person_session' THEN changed_name := encode(changed.digest, 'hex');
    WHEN 'tenant_limits' THEN changed_name := changed.tenant;
    ELSE changed_name := changed.id;
  END CASE;
  INSERT INTO access_change(kind, name) VALUES (TG_TABLE_NAME, changed_name) RETURNING number INTO added;
  DELETE FROM access_change WHERE number <= added - 5000;
  RETURN NULL;
END $$;
CREATE TRIGGER api_key_access AFTER INSERT OR UPDATE OR DELETE ON api_key FOR EACH ROW EXECUTE FUNCTION access_changed();
CREATE TRIGGER login_access AFTER INSERT OR UPDATE OR DELETE ON login FOR EACH ROW EXECUTE FUNCTION access_changed();
CREATE TRIGGER person_access AFTER INSERT OR UPDATE OR DELETE ON person FOR EACH ROW EXECUTE FUNCTION access_changed();
CREATE TRIGGER person_session_access AFTER INSERT OR UPDATE OR DELETE ON person_session FOR EACH ROW EXECUTE FUNCTION access_changed();
CREATE TRIGGER tenant_limits_access AFTER INSERT OR UPDATE OR DELETE ON tenant_limits FOR EACH ROW EXECUTE FUNCTION access_changed();

CREATE INDEX api_key_tenant ON api_key(tenant);
CREATE INDEX api_key_age ON api_key(created_at, id);
CREATE INDEX person_age ON person(created_at, id);
CREATE INDEX login_age ON login(expires_at);
CREATE INDEX person_session_age ON person_session(expires_at);
