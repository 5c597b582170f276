-- What a message has to do with tools, as JSON: may call some, is a call, or tells what came of one.
ALTER TABLE message ADD COLUMN tool_use TEXT;
ALTER TABLE response ADD COLUMN tools TEXT NOT NULL DEFAULT '[]';
ALTER TABLE response ADD COLUMN tool_choice TEXT NOT NULL DEFAULT '"auto"';
ALTER TABLE response ADD COLUMN parallel_tool_calls INTEGER NOT NULL DEFAULT 1;
ALTER TABLE response ADD COLUMN text_format TEXT NOT NULL DEFAULT '{"type":"text"}';
