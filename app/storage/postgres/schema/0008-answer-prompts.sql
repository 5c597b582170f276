-- Token ids of the prompt of an answer, where they are not those of the messages before it.
CREATE TABLE answer_prompt(
  message_id TEXT COLLATE "C" PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE,
  token_ids BYTEA NOT NULL);
