-- A group can stand for others: what would come into these comes into it. The row of a merged group stays as it was then.
ALTER TABLE groups ADD COLUMN merged_into UUID; -- the group that it is part of; null: none
ALTER TABLE groups ADD COLUMN merged_by TEXT NOT NULL DEFAULT '';
ALTER TABLE groups ADD COLUMN merged_at BIGINT;
ALTER TABLE groups ADD COLUMN is_counted_in BOOLEAN NOT NULL DEFAULT FALSE; -- its retries are counted in the group it is part of, too
ALTER TABLE groups ADD COLUMN is_moving BOOLEAN NOT NULL DEFAULT FALSE; -- letters are on their way into it or out of it
ALTER TABLE groups ADD COLUMN parted_from UUID; -- the group that they are on their way out of

CREATE INDEX groups_merged ON groups (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX groups_moving ON groups (id) WHERE is_moving;

-- The group that follows from what the letter is, where it is in another.
ALTER TABLE letters ADD COLUMN key_id UUID;
CREATE INDEX letters_by_key ON letters (key_id, group_id) WHERE key_id IS NOT NULL;
