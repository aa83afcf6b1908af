-- Retries of many letters: how they are held back, and what came of them.
ALTER TABLE jobs ADD COLUMN stage TEXT NOT NULL DEFAULT ''; -- of one that is held back: freezing, canary, rest
ALTER TABLE jobs ADD COLUMN next_at BIGINT; -- when it is to be looked at again; null: nothing is to be done by the clock
ALTER TABLE jobs ADD COLUMN sent BIGINT NOT NULL DEFAULT 0; -- so many of its letters were sent,
ALTER TABLE jobs ADD COLUMN failed_again BIGINT NOT NULL DEFAULT 0; -- and so many of these failed again
ALTER TABLE jobs ADD COLUMN last_sent_at BIGINT;
ALTER TABLE jobs ADD COLUMN canary_sent BIGINT; -- how its first letters did when that was decided upon; null: it was not yet
ALTER TABLE jobs ADD COLUMN canary_failed BIGINT;
ALTER TABLE jobs ADD COLUMN activity_seq BIGINT; -- its line in the activity

CREATE INDEX jobs_by_next ON jobs (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX jobs_by_state ON jobs (state, created_at);

-- For which job a retry is sent.
ALTER TABLE retries ADD COLUMN job_id BLOB;
CREATE INDEX retries_by_job ON retries (job_id, due_at) WHERE job_id IS NOT NULL;

-- The letters of such jobs. One that is held back has all of them from the beginning, others those that were sent.
CREATE TABLE job_letters (
    job_id BLOB NOT NULL,
    letter_id BLOB NOT NULL,
    state TEXT NOT NULL, -- frozen, released, sent, failed
    at BIGINT NOT NULL, -- since when
    PRIMARY KEY (job_id, letter_id)
) WITHOUT ROWID;
CREATE INDEX job_letters_frozen ON job_letters (job_id, letter_id) WHERE state = 'frozen';
-- What is pending, and which job a letter was sent by that comes back.
CREATE INDEX job_letters_sent ON job_letters (job_id, at) WHERE state = 'sent';
CREATE INDEX job_letters_away ON job_letters (letter_id) WHERE state = 'sent';
CREATE INDEX job_letters_failed ON job_letters (job_id) WHERE state = 'failed';

-- Letters that must not be retried, for who is about to retry many.
CREATE INDEX letters_dangerous ON letters (facet_id, received_at) WHERE danger IS NOT NULL;
