-- Triggers of the prompts of answers that an early form of script 0008 left out, and what they would have counted.
UPDATE tenant_usage SET nbytes = nbytes + coalesce((
  SELECT sum(256 + octet_length(answer_prompt.token_ids)) FROM answer_prompt
  JOIN message ON message.id = answer_prompt.message_id
  JOIN conversation ON conversation.id = message.conversation_id
  WHERE conversation.counted AND conversation.tenant = tenant_usage.tenant), 0)
WHERE NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgname = 'answer_prompt_added' AND tgrelid = 'answer_prompt'::regclass);

CREATE OR REPLACE FUNCTION answer_prompt_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE tenant_usage SET nbytes = nbytes + 256 + octet_length(new.token_ids)
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = new.message_id));
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER answer_prompt_added AFTER INSERT ON answer_prompt FOR EACH ROW EXECUTE FUNCTION answer_prompt_added();
CREATE OR REPLACE FUNCTION answer_prompt_taken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + octet_length(old.token_ids))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = old.message_id));
  RETURN old;
END $$;
CREATE OR REPLACE TRIGGER answer_prompt_taken BEFORE DELETE ON answer_prompt FOR EACH ROW EXECUTE FUNCTION answer_prompt_taken();
-- A response and a prompt go with their message, and before it.
CREATE OR REPLACE FUNCTION message_leaves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM response WHERE message_id = old.id;
  DELETE FROM answer_prompt WHERE message_id = old.id;
  RETURN old;
END $$;

CREATE OR REPLACE VIEW stored_size AS
  SELECT id AS conversation_id, 256 + coalesce(octet_length(conversation.title), 0)
    + coalesce(octet_length(conversation.system_prompt), 0)
    + coalesce(octet_length(conversation.params), 0)
    + coalesce(octet_length(conversation.metadata), 0)
    + coalesce(octet_length(conversation.tags), 0) AS nbytes
  FROM conversation
  UNION ALL
  SELECT message.conversation_id, 256 + coalesce(octet_length(message.content), 0)
    + coalesce(octet_length(message.reasoning), 0)
    + coalesce(octet_length(message.token_ids), 0)
    + coalesce(octet_length(message.params), 0)
    + coalesce(octet_length(message.usage), 0)
    + coalesce(octet_length(message.error), 0)
    + coalesce(octet_length(message.tool_use), 0)
    + coalesce(octet_length(message.summary), 0)
    + coalesce(octet_length(message.rating_note), 0) AS nbytes
  FROM message
  UNION ALL
  SELECT message.conversation_id, 256 + coalesce(octet_length(response.instructions), 0)
    + coalesce(octet_length(response.metadata), 0)
    + coalesce(octet_length(response.tools), 0)
    + coalesce(octet_length(response.tool_choice), 0)
    + coalesce(octet_length(response.text_format), 0) AS nbytes
  FROM response JOIN message ON message.id = response.message_id
  UNION ALL
  SELECT message.conversation_id, 256 + octet_length(answer_prompt.token_ids) AS nbytes
  FROM answer_prompt JOIN message ON message.id = answer_prompt.message_id;
