-- Passwords of people, as Argon2id digests. An initial one was given by an administrator.
CREATE TABLE password(
  person_id TEXT PRIMARY KEY REFERENCES person(id) ON DELETE CASCADE,
  digest TEXT NOT NULL,
  is_initial INTEGER NOT NULL,
  changed_at REAL NOT NULL);
-- Second factors (RFC 6238), unconfirmed until the person has entered a first code. Each step's code is accepted once.
-- The recovery codes are digests as a JSON array.
CREATE TABLE second_factor(
  person_id TEXT PRIMARY KEY REFERENCES person(id) ON DELETE CASCADE,
  secret BLOB NOT NULL,
  is_confirmed INTEGER NOT NULL DEFAULT 0,
  last_step INTEGER NOT NULL DEFAULT 0,
  recovery TEXT NOT NULL DEFAULT '[]');
