-- Bounds of the times of messages, by blocks of numbers of the search index: see app/storage/search_times.py.
CREATE TABLE search_times(block BIGINT PRIMARY KEY, earliest DOUBLE PRECISION NOT NULL, latest DOUBLE PRECISION NOT NULL);
