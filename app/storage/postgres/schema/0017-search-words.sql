-- The words of the search index are found by app/storage/search_words.py, as in SQLite. app/storage/upkeep.py indexes
-- what is there already.
DROP TABLE search_text, search_queue;

-- place: the tenant, and whether a title or a message. words: those of the text in their order, between spaces.
CREATE TABLE search_words(
  number BIGINT PRIMARY KEY REFERENCES searchable(number) ON DELETE CASCADE,
  place TEXT COLLATE "C" NOT NULL,
  words TEXT COLLATE "C" NOT NULL);
CREATE FUNCTION placed_words(place TEXT, words TEXT) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_to_tsvector(string_to_array(ltrim(replace(rtrim(words), ' ', ' ' || place)), ' '))
$$;
-- Without a list of pending entries, which each look-up of a word would read.
CREATE INDEX search_words_found ON search_words USING gin(placed_words(place, words)) WITH (fastupdate = off);
CREATE INDEX search_words_newest ON search_words(place, number);
INSERT INTO upkeep(task, below) SELECT 'index', max(number) + 1 FROM searchable HAVING count(*) > 0
  ON CONFLICT (task) DO UPDATE SET below = excluded.below;

-- The transaction indexes what it noted, before it is committed: see app/storage/postgres/text_index.py.
CREATE FUNCTION note_written(number BIGINT) RETURNS TEXT LANGUAGE sql AS $$
  SELECT set_config('ebb.written', concat_ws(',', nullif(current_setting('ebb.written', TRUE), ''), number), TRUE)
$$;
CREATE OR REPLACE FUNCTION message_written() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO searchable(conversation_id, message_id) VALUES (new.conversation_id, new.id) ON CONFLICT DO NOTHING;
  PERFORM note_written(number) FROM searchable WHERE message_id = new.id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION conversation_titled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO searchable(conversation_id) VALUES (new.id) ON CONFLICT DO NOTHING;
  PERFORM note_written(number) FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION conversation_retitled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  IF new.title IS NOT NULL THEN
    INSERT INTO searchable(conversation_id) VALUES (new.id);
    PERFORM note_written(number) FROM searchable WHERE conversation_id = new.id AND message_id IS NULL;
  END IF;
  RETURN NULL;
END $$;
