-- Replicas of the engine that several servers share, and the server that starts and replaces them: see
-- app/storage/replicas.py.
CREATE TABLE replica(
  number BIGINT PRIMARY KEY,
  epoch BIGINT NOT NULL,
  place BYTEA);
CREATE TABLE replica_keeper(
  id BIGINT PRIMARY KEY CHECK (id = 1),
  server TEXT COLLATE "C" NOT NULL,
  last_epoch BIGINT NOT NULL);
INSERT INTO replica_keeper(id, server, last_epoch) VALUES (1, '', 0);
