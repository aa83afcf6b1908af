-- Letters that were no longer what was meant when a job came to them: somebody else had dealt with them.
ALTER TABLE jobs ADD COLUMN skipped BIGINT NOT NULL DEFAULT 0;
