CREATE INDEX message_start ON message(substr(token_ids, 1, 256)) WHERE starts_prompt;
