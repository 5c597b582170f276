-- Long texts of responses, once for all responses of a tenant that have them: see app/storage/response_texts.py.
CREATE TABLE response_text(
  number INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  digest BLOB NOT NULL,
  uses INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (tenant, digest));
ALTER TABLE response ADD COLUMN instructions_number INTEGER;
ALTER TABLE response ADD COLUMN tools_number INTEGER;
ALTER TABLE response ADD COLUMN tool_choice_number INTEGER;
ALTER TABLE response ADD COLUMN text_format_number INTEGER;

CREATE TRIGGER response_text_added AFTER INSERT ON response_text BEGIN
  INSERT INTO tenant_usage(tenant, nbytes) VALUES (new.tenant, 256 + length(CAST(new.text AS BLOB)))
    ON CONFLICT(tenant) DO UPDATE SET nbytes = nbytes + excluded.nbytes;
END;
CREATE TRIGGER response_text_taken AFTER DELETE ON response_text BEGIN
  UPDATE tenant_usage SET nbytes = nbytes - (256 + length(CAST(old.text AS BLOB))) WHERE tenant = old.tenant;
END;
CREATE TRIGGER response_texts_left AFTER DELETE ON response BEGIN
  UPDATE response_text SET uses = uses - 1 WHERE number IN
    (old.instructions_number, old.tools_number, old.tool_choice_number, old.text_format_number);
  DELETE FROM response_text WHERE uses = 0 AND number IN
    (old.instructions_number, old.tools_number, old.tool_choice_number, old.text_format_number);
END;
