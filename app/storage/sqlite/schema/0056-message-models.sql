-- The model whose token ids a message has: an answer is from this model. NULL in messages from before.
ALTER TABLE message ADD COLUMN model TEXT;
ALTER TABLE other_tokens ADD COLUMN model TEXT;
