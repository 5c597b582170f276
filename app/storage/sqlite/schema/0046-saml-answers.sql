-- Verified answers of a SAML provider, each accepted once: see app/storage/saml_answers.py.
-- id, secret: hashes. identity: JSON; NULL once a browser has taken the answer.
CREATE TABLE saml_answer(
  id BLOB PRIMARY KEY,
  secret BLOB NOT NULL UNIQUE,
  state TEXT NOT NULL,
  identity TEXT,
  kept_until REAL NOT NULL,
  expires_at REAL NOT NULL);
CREATE INDEX saml_answer_expiry ON saml_answer(expires_at);
CREATE INDEX saml_answer_kept ON saml_answer(kept_until) WHERE identity IS NOT NULL;
