-- People and groups that a provider provisions (SCIM 2.0). The groups of a provisioned person are those of scim_member.
ALTER TABLE person ADD COLUMN provisioned INTEGER NOT NULL DEFAULT 0;
-- The body is the resource as JSON. The keys are values in the form in which SCIM compares them.
CREATE TABLE scim_user(
  id TEXT PRIMARY KEY REFERENCES person(id) ON DELETE CASCADE,
  user_key TEXT NOT NULL UNIQUE,
  external_id TEXT,
  active INTEGER NOT NULL,
  body TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at REAL NOT NULL,
  changed_at REAL NOT NULL);
CREATE INDEX scim_user_external ON scim_user(external_id);
CREATE TABLE scim_group(
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL UNIQUE,
  external_id TEXT,
  body TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at REAL NOT NULL,
  changed_at REAL NOT NULL);
CREATE INDEX scim_group_external ON scim_group(external_id);
CREATE TABLE scim_member(
  group_id TEXT NOT NULL REFERENCES scim_group(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES scim_user(id) ON DELETE CASCADE,
  display TEXT,
  PRIMARY KEY (group_id, user_id)) WITHOUT ROWID;
CREATE INDEX scim_member_user ON scim_member(user_id);
