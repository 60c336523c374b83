CREATE SCHEMA IF NOT EXISTS pleat;
CREATE TABLE pleat.version(version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());
CREATE SEQUENCE pleat.moment;
CREATE TABLE pleat.session(
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner bigint NOT NULL,
	hash bytea NOT NULL UNIQUE,
	head bigint NOT NULL,
	bytes bigint NOT NULL,
	first bigint NOT NULL,
	last bigint NOT NULL,
	newest bigint NOT NULL,
	tenant bytea NOT NULL,
	name bytea NOT NULL,
	kinds bytea NOT NULL,
	sum bytea NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX session_owner ON pleat.session(owner);
CREATE TABLE pleat.entry(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	moment bigint NOT NULL,
	prev bigint NOT NULL,
	time bigint NOT NULL,
	size bigint NOT NULL,
	kind bytea NOT NULL,
	label bytea NOT NULL,
	body bytea,
	text bytea,
	find bytea,
	sum bytea NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY(session, seq)
);
CREATE INDEX entry_body ON pleat.entry(body, session) WHERE body IS NOT NULL;
CREATE INDEX entry_find ON pleat.entry(find, moment, seq) WHERE find IS NOT NULL;
CREATE TABLE pleat.blob(
	owner bigint NOT NULL,
	size bigint NOT NULL,
	codec smallint NOT NULL,
	hash bytea NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY(hash, owner)
);
ALTER TABLE pleat.blob ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE pleat.text(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	size bigint NOT NULL,
	codec smallint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY(session, seq)
);
ALTER TABLE pleat.text ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE pleat.pending(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	done bigint NOT NULL,
	PRIMARY KEY(session, seq)
);
CREATE TABLE pleat.indexed(
	session bigint PRIMARY KEY,
	places bigint NOT NULL,
	words bigint NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE pleat.place(
	session bigint NOT NULL,
	seq bigint NOT NULL,
	start bigint NOT NULL,
	size bigint NOT NULL,
	line bigint NOT NULL,
	lines bigint NOT NULL,
	length bigint NOT NULL,
	words tsvector NOT NULL,
	PRIMARY KEY(session, seq, start)
);
CREATE INDEX place_words ON pleat.place USING gin(words);
CREATE TABLE pleat.claim(
	work bytea PRIMARY KEY,
	token bytea NOT NULL,
	expires timestamptz NOT NULL
);
CREATE INDEX claim_expires ON pleat.claim(expires);
