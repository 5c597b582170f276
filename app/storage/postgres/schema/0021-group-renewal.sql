-- The member, in the order of their ids, up to which the accounts follow the name of their group; NULL if all do: see
-- app/storage/memberships.py.
ALTER TABLE scim_group ADD COLUMN renewed_to TEXT COLLATE "C";
CREATE INDEX scim_group_renewal ON scim_group(id) WHERE renewed_to IS NOT NULL;

-- Old changes are removed once for a hundred new ones: each removal passes over those that no vacuum has cleared yet.
CREATE OR REPLACE FUNCTION access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
  IF added % 100 = 0 THEN DELETE FROM access_change WHERE number <= added - 5000; END IF;
  RETURN NULL;
END $$;
