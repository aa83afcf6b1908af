-- How far people are with a group.
ALTER TABLE groups ADD COLUMN state TEXT NOT NULL DEFAULT 'open'; -- open, acknowledged, snoozed, resolved
ALTER TABLE groups ADD COLUMN progress TEXT NOT NULL DEFAULT ''; -- the rest of that, JSON; empty: nobody has done anything
ALTER TABLE groups ADD COLUMN wake_at BIGINT; -- when the clock ends its snooze
ALTER TABLE groups ADD COLUMN assignee TEXT NOT NULL DEFAULT ''; -- user:NAME or team:NAME; empty: nobody
ALTER TABLE groups ADD COLUMN ticket TEXT NOT NULL DEFAULT ''; -- an address by http or https; empty: none

CREATE INDEX groups_to_wake ON groups (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX groups_snoozed ON groups (last_seen) WHERE state = 'snoozed';

-- Since when those who were notified know that somebody is at it.
ALTER TABLE incidents ADD COLUMN acknowledged_at BIGINT;
