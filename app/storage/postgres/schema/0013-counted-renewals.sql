-- Leases that depend on no clock: the renewals of a server are counted, and another server ends its lease once it has seen
-- no renewal for long (app/storage/servers.py). No server runs now.
ALTER TABLE server DROP COLUMN lease_until;
ALTER TABLE server ADD COLUMN renewals BIGINT NOT NULL DEFAULT 0;
ALTER TABLE server ADD COLUMN is_live BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE server ADD COLUMN is_ready BOOLEAN NOT NULL DEFAULT FALSE;
