-- Choices of a tenant that hold in every browser: few, and each with a bounded value.
CREATE TABLE preference(
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (tenant, name)) WITHOUT ROWID;
