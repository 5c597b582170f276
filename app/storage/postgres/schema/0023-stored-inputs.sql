-- Name of the input of a response that has the whole conversation: see app/apis/responses/stored_prefix.py.
ALTER TABLE response ADD COLUMN input_name TEXT COLLATE "C";
CREATE INDEX response_input ON response(input_name) WHERE input_name IS NOT NULL;
