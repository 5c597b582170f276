-- Token ids of questions under further prompt keys than that of their row: another model answers them, too.
CREATE TABLE other_tokens(
  message_id TEXT COLLATE "C" NOT NULL REFERENCES message(id) ON DELETE CASCADE,
  prompt_key TEXT NOT NULL,
  starts_prompt BOOLEAN NOT NULL,
  token_ids BYTEA NOT NULL,
  PRIMARY KEY(message_id, prompt_key));
CREATE INDEX other_start ON other_tokens(substr(token_ids, 1, 256)) WHERE starts_prompt;

CREATE FUNCTION other_tokens_added() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  counted_of RECORD;
BEGIN
  FOR counted_of IN
    SELECT tenant, sum(nbytes) AS nbytes FROM (
      SELECT (
          SELECT tenant FROM conversation
          WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = added.message_id)) AS tenant,
        256 + octet_length(token_ids) AS nbytes
      FROM added) AS sizes
    GROUP BY tenant
  LOOP
    UPDATE tenant_usage SET nbytes = nbytes + counted_of.nbytes WHERE tenant = counted_of.tenant;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER other_tokens_added AFTER INSERT ON other_tokens REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION other_tokens_added();
CREATE FUNCTION other_tokens_taken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + octet_length(old.token_ids))
  WHERE tenant = (
    SELECT tenant FROM conversation WHERE counted AND id = (SELECT conversation_id FROM message WHERE id = old.message_id));
  RETURN old;
END $$;
CREATE TRIGGER other_tokens_taken BEFORE DELETE ON other_tokens FOR EACH ROW EXECUTE FUNCTION other_tokens_taken();
-- A response, a prompt and further token ids go with their message, and before it.
CREATE OR REPLACE FUNCTION message_leaves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM response WHERE message_id = old.id;
  DELETE FROM answer_prompt WHERE message_id = old.id;
  DELETE FROM other_tokens WHERE message_id = old.id;
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
  FROM answer_prompt JOIN message ON message.id = answer_prompt.message_id
  UNION ALL
  SELECT message.conversation_id, 256 + octet_length(other_tokens.token_ids) AS nbytes
  FROM other_tokens JOIN message ON message.id = other_tokens.message_id;
