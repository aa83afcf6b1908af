-- Who may sign in, and with what.
CREATE TABLE users (
    id UUID PRIMARY KEY NOT NULL,
    name TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL, -- password, oidc, proxy: who vouches for them
    subject TEXT NOT NULL, -- what that one calls them
    password TEXT NOT NULL, -- its argon2id hash, as a PHC string; empty: none
    role TEXT NOT NULL,
    disabled BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    signed_in_at BIGINT
);
CREATE UNIQUE INDEX users_by_subject ON users (source, subject);
-- Browsers in which somebody has signed in. Only the SHA-256 of what the cookie holds is here.
CREATE TABLE sessions (
    hash BYTEA PRIMARY KEY NOT NULL,
    id UUID NOT NULL,
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL, -- to the minute
    address TEXT NOT NULL,
    agent TEXT NOT NULL,
    id_token TEXT NOT NULL -- for the sign-out at the OpenID provider
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_time ON sessions (seen_at);
-- What programs sign in with; of it, too, only the SHA-256.
CREATE TABLE api_tokens (
    id UUID PRIMARY KEY NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    name TEXT NOT NULL,
    owner UUID REFERENCES users (id) ON DELETE CASCADE, -- null: made on the command line
    scopes TEXT NOT NULL, -- by comma
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT, -- to the minute
    used_from TEXT NOT NULL
);
CREATE INDEX api_tokens_by_owner ON api_tokens (owner);
-- What makes the first admin.
CREATE TABLE setup_links (
    hash BYTEA PRIMARY KEY NOT NULL,
    ends_at BIGINT NOT NULL
);
-- From where it was done: by a page or a token, and the address; empty where nobody has to sign in.
ALTER TABLE activity ADD COLUMN via TEXT NOT NULL DEFAULT '';
ALTER TABLE activity ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN via TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN address TEXT NOT NULL DEFAULT '';
