-- What a job is to send that is being stopped is passed over by the index alone.
DROP INDEX retries_to_claim;
CREATE INDEX retries_to_claim ON retries (broker, due_at, job_id) WHERE held = 0;
