-- Choices of a tenant that hold in every browser: few, and each with a bounded value.
CREATE TABLE preference(
  tenant TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (tenant, name));
