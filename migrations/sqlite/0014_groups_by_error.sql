-- Whether an error has begun elsewhere too, which is asked every few seconds for each group that is snoozed until a change.
CREATE INDEX groups_by_error ON groups (broker, error, first_seen);
