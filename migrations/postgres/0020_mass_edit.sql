-- Of a retry with an edit: this letter is a copy that the job has made, and is not edited once more.
ALTER TABLE job_letters ADD COLUMN is_copy BOOLEAN NOT NULL DEFAULT FALSE;
-- Why it was refused; its state is refused then.
ALTER TABLE job_letters ADD COLUMN why TEXT;
