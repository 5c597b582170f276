-- Requests within the limits and tokens of prompts and answers, by tenant and day in UTC.
CREATE TABLE daily_use(
  tenant TEXT NOT NULL,
  day TEXT NOT NULL,
  requests INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (tenant, day)) WITHOUT ROWID;
