-- Requests within the limits and tokens of prompts and answers, by tenant and day in UTC.
CREATE TABLE daily_use(
  tenant TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL,
  requests BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  PRIMARY KEY (tenant, day));
