-- The member, in the order of their ids, up to which the accounts follow the name of their group; NULL if all do: see
-- app/storage/memberships.py.
ALTER TABLE scim_group ADD COLUMN renewed_to TEXT;
CREATE INDEX scim_group_renewal ON scim_group(id) WHERE renewed_to IS NOT NULL;
