-- Responses that expire, the oldest first, since ids grow with time. One that names a conversation stays as long as it.
CREATE INDEX response_expiring ON response(message_id) WHERE conversation_id IS NULL;

-- Ends of paths that lost their response: messages are removed from there up, in batches, until one is still needed.
CREATE TABLE path_end(message_id TEXT PRIMARY KEY REFERENCES message(id) ON DELETE CASCADE) WITHOUT ROWID;

-- The earliest time that the system's clock showed in each hour of serving.
CREATE TABLE served_hour(hour INTEGER PRIMARY KEY, wall REAL NOT NULL);
