-- Why letters of a job were not sent; a page counts it, of a million others beside these.
CREATE INDEX job_letters_why ON job_letters (job_id) WHERE why IS NOT NULL;
