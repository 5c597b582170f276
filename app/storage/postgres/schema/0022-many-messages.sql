-- Messages and prompts are counted, and messages noted for the search index, once for all rows of a statement. Each
-- change of the row of a tenant passes over all earlier ones of its transaction, and the note grows with each addition.
CREATE OR REPLACE FUNCTION message_added() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  counted_of RECORD;
BEGIN
  -- One look-up after the other: a join may read whole tables while PostgreSQL has no statistics of them.
  FOR counted_of IN
    SELECT tenant, sum(nbytes) AS nbytes FROM (
      SELECT (SELECT tenant FROM conversation WHERE counted AND id = added.conversation_id) AS tenant,
        256 + coalesce(octet_length(content), 0)
        + coalesce(octet_length(reasoning), 0)
        + coalesce(octet_length(token_ids), 0)
        + coalesce(octet_length(params), 0)
        + coalesce(octet_length(usage), 0)
        + coalesce(octet_length(error), 0)
        + coalesce(octet_length(tool_use), 0)
        + coalesce(octet_length(summary), 0)
        + coalesce(octet_length(rating_note), 0) AS nbytes
      FROM added) AS sizes
    GROUP BY tenant
  LOOP
    UPDATE tenant_usage SET nbytes = nbytes + counted_of.nbytes WHERE tenant = counted_of.tenant;
  END LOOP;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER message_added AFTER INSERT ON message REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION message_added();

CREATE OR REPLACE FUNCTION answer_prompt_added() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE OR REPLACE TRIGGER answer_prompt_added AFTER INSERT ON answer_prompt REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION answer_prompt_added();

DROP FUNCTION note_written(BIGINT);
CREATE FUNCTION note_written(VARIADIC numbers BIGINT[]) RETURNS TEXT LANGUAGE sql AS $$
  SELECT set_config('ebb.written',
    concat_ws(',', nullif(current_setting('ebb.written', TRUE), ''), array_to_string(numbers, ',')), TRUE)
$$;
CREATE OR REPLACE TRIGGER message_written AFTER UPDATE OF content, status ON message FOR EACH ROW WHEN (new.status <> 'in_progress') EXECUTE FUNCTION message_written();
CREATE FUNCTION messages_written() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO searchable(conversation_id, message_id)
    SELECT conversation_id, id FROM added WHERE status <> 'in_progress' ON CONFLICT DO NOTHING;
  PERFORM note_written(VARIADIC array_agg((SELECT number FROM searchable WHERE message_id = added.id)))
    FROM added WHERE status <> 'in_progress';
  RETURN NULL;
END $$;
CREATE TRIGGER messages_written AFTER INSERT ON message REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION messages_written();
