-- Filters by tag read the tags as jsonb, which rejects NUL characters. Tags of earlier versions may contain the escape.
UPDATE conversation SET tags = regexp_replace(tags, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')
WHERE tags LIKE '%\\u0000%';
