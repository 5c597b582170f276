-- Whether an answer has ended that the person has not looked at. Answers from before count as seen.
ALTER TABLE conversation ADD COLUMN unread BOOLEAN NOT NULL DEFAULT FALSE;
-- A view keeps the columns that its table had.
CREATE OR REPLACE VIEW shown_conversation AS SELECT * FROM conversation WHERE deleted_at IS NULL;
