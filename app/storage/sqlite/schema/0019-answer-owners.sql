-- The tenant of an answer, as a digest of its secret salt. Answers from before are nobody's until they are used again.
ALTER TABLE answer ADD COLUMN owner BLOB NOT NULL DEFAULT x'';
DROP INDEX answer_used;
CREATE INDEX answer_used ON answer(owner, used_at, nbytes);
