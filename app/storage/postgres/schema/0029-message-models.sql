-- The model whose token ids a message has: an answer is from this model. NULL in messages from before.
ALTER TABLE message ADD COLUMN model TEXT;
ALTER TABLE other_tokens ADD COLUMN model TEXT;
-- A view keeps the columns that its table had.
DROP VIEW shown_message;
CREATE VIEW shown_message AS
  SELECT message.*, conversation.tenant FROM message JOIN conversation ON conversation.id = message.conversation_id
  WHERE message.deleted_at IS NULL AND conversation.deleted_at IS NULL;
