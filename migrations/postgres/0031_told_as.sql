-- The group in whose incident it is told: its letters were in that one when the incident began, and became of another type.
ALTER TABLE groups ADD COLUMN told_as UUID;
CREATE INDEX groups_told_as ON groups (told_as) WHERE told_as IS NOT NULL;
