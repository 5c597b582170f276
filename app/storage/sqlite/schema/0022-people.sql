-- People with an account. The tenant is drawn at the first login and never used again for another person.
CREATE TABLE person(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL UNIQUE,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  groups TEXT NOT NULL,
  created_at REAL NOT NULL,
  last_seen_at REAL NOT NULL,
  disabled_at REAL);
CREATE UNIQUE INDEX person_identity ON person(issuer, subject);
-- The cookie's secret is stored as a digest only.
CREATE TABLE person_session(
  digest BLOB PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  person_id TEXT NOT NULL REFERENCES person(id) ON DELETE CASCADE,
  client TEXT NOT NULL,
  created_at REAL NOT NULL,
  expires_at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX person_session_person ON person_session(person_id, expires_at);
