-- Leases that depend on no clock, with the columns that PostgreSQL has. Only one server serves a file, so there are no rows.
ALTER TABLE server DROP COLUMN lease_until;
ALTER TABLE server ADD COLUMN renewals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE server ADD COLUMN is_live INTEGER NOT NULL DEFAULT 0;
ALTER TABLE server ADD COLUMN is_ready INTEGER NOT NULL DEFAULT 0;
