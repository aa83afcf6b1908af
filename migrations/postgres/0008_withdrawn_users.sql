-- Whoever vouched for a user gives them no role any more: their tokens are good for nothing until they have one again.
ALTER TABLE users ADD COLUMN withdrawn BOOLEAN NOT NULL DEFAULT FALSE;
