-- What people say of errors is not about what is wrong: errors that differ in it only are in one group.
CREATE TABLE grouping_rules (
    id UUID NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    pattern TEXT NOT NULL, -- a regular expression
    placeholder TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL, -- when it was added or removed
    is_removed BOOLEAN NOT NULL DEFAULT FALSE, -- it is not in force; the groups that it merged are to be split again
    is_applied BOOLEAN NOT NULL DEFAULT FALSE -- the groups that there were are merged, or split again
);
