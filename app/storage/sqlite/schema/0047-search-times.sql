-- Bounds of the times of messages, by blocks of numbers of the search index: see app/storage/search_times.py.
CREATE TABLE search_times(block INTEGER PRIMARY KEY, earliest REAL NOT NULL, latest REAL NOT NULL);
-- SQLite gives the greatest numbers again once their rows are removed.
CREATE TRIGGER searchable_numbered AFTER INSERT ON searchable BEGIN
  DELETE FROM search_times WHERE block = new.number / 1024;
END;
