-- The last piece of a run's output is looked up with every new one (app/storage/runs.py).
DROP INDEX run_event_of_run;
CREATE INDEX run_event_of_run ON run_event(run, first_token);
