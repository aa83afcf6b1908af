-- Teams: who is in any sees the queues of these only.
ALTER TABLE users ADD COLUMN teams TEXT NOT NULL DEFAULT ''; -- as in payments=operator, texts=viewer
ALTER TABLE api_tokens ADD COLUMN teams TEXT NOT NULL DEFAULT ''; -- by comma; empty: all that the owner sees
-- For which queues a job was asked for, JSON; empty: for all.
ALTER TABLE jobs ADD COLUMN within TEXT NOT NULL DEFAULT '';
-- Whoever sees all of these queues sees the job, JSON; empty: those who see all.
ALTER TABLE jobs ADD COLUMN seen_within TEXT NOT NULL DEFAULT '';
-- Where the letters of a line are, if all of them are of one queue; else for which queues it was done, as above.
ALTER TABLE activity ADD COLUMN broker TEXT;
ALTER TABLE activity ADD COLUMN queue TEXT;
ALTER TABLE activity ADD COLUMN within TEXT NOT NULL DEFAULT '';
-- Letters that came to a line after it was written: what is in the activity is never changed.
CREATE TABLE activity_letters (
    seq BIGINT NOT NULL,
    letters BIGINT NOT NULL
);
CREATE INDEX activity_letters_by_seq ON activity_letters (seq);
-- In one row: only what is older than this may be removed from the activity; without it nothing.
CREATE TABLE activity_term (
    id BIGINT NOT NULL PRIMARY KEY,
    before BIGINT NOT NULL
);
-- Triggers, in the words of this database.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the activity is never changed';
END;
$$;
CREATE FUNCTION keep_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM activity_term WHERE OLD.at < before) THEN
        RAISE EXCEPTION 'the activity is kept until its term is over';
    END IF;
    RETURN OLD;
END;
$$;
CREATE FUNCTION keep_activity_letters() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM activity WHERE activity.seq = OLD.seq) THEN
        RAISE EXCEPTION 'the activity is kept until its term is over';
    END IF;
    RETURN OLD;
END;
$$;
CREATE TRIGGER activity_stays BEFORE UPDATE OR TRUNCATE ON activity FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER activity_is_kept BEFORE DELETE ON activity FOR EACH ROW EXECUTE FUNCTION keep_activity();
CREATE TRIGGER activity_letters_stay BEFORE UPDATE OR TRUNCATE ON activity_letters
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER activity_letters_are_kept BEFORE DELETE ON activity_letters
    FOR EACH ROW EXECUTE FUNCTION keep_activity_letters();
