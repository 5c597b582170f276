-- Number of messages, from the beginning of its path, that the prompt of a message lacks. NULL takes the number of the
-- message before it.
ALTER TABLE message ADD COLUMN left_out INTEGER;
