-- Bytes of the disk tier that are reserved for promises to a tenant.
ALTER TABLE tenant_limits ADD COLUMN kv_reserved INTEGER;
