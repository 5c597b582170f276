-- The time of the newest act of a person, which never goes backwards, whatever becomes of the clock.
CREATE TABLE server_clock(newest REAL NOT NULL);
INSERT INTO server_clock SELECT coalesce(max(updated_at), 0) FROM conversation;

-- What the clock showed when servers had served for so many seconds: for the last minutes of serving only.
CREATE TABLE served_tick(served REAL PRIMARY KEY, wall REAL NOT NULL) WITHOUT ROWID;
