-- Number of other answers to the question that an answer merges; NULL if it merges none.
ALTER TABLE message ADD COLUMN merged INTEGER;
