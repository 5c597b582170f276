-- Whether an answer has ended that the person has not looked at. Answers from before count as seen.
ALTER TABLE conversation ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
