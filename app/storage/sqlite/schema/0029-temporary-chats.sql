-- Whether a conversation is in no list and is removed a day after its last message.
ALTER TABLE conversation ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversation_temporary ON conversation(updated_at) WHERE temporary;
