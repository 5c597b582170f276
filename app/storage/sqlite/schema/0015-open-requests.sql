-- NULL: without limit.
ALTER TABLE tenant_limits ADD COLUMN open_requests INTEGER;
