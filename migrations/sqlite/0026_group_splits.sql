-- Groups whose letters are told apart by a field: those with one of these values are in a group of their own.
CREATE TABLE group_splits (
    group_id BLOB NOT NULL PRIMARY KEY,
    field TEXT NOT NULL, -- payload. or header. and its path
    parts TEXT NOT NULL, -- JSON: the values; null stands for letters without the field
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    is_applied BOOLEAN NOT NULL DEFAULT FALSE -- the letters that there were are where they belong
);
ALTER TABLE groups ADD COLUMN part TEXT NOT NULL DEFAULT ''; -- what its letters say in that field; empty: it is no part
ALTER TABLE groups ADD COLUMN split_from BLOB; -- the group that it is a part of
CREATE INDEX groups_split ON groups (split_from) WHERE split_from IS NOT NULL;
