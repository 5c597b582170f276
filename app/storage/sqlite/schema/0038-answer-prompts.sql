-- Token ids of the prompt of an answer, where they are not those of the messages before it.
CREATE TABLE answer_prompt(
  message_id TEXT PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE,
  token_ids BLOB NOT NULL);
