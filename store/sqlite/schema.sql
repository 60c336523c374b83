CREATE TABLE session(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant BLOB NOT NULL,
	name BLOB NOT NULL,
	hash BLOB NOT NULL,
	head INTEGER NOT NULL,
	kinds BLOB NOT NULL,
	bytes INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	newest INTEGER NOT NULL,
	sum BLOB NOT NULL
);
CREATE UNIQUE INDEX session_name ON session(tenant, name);
CREATE UNIQUE INDEX session_hash ON session(hash);
CREATE TABLE entry(
	id INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	prev INTEGER NOT NULL,
	kind BLOB NOT NULL,
	label BLOB NOT NULL,
	time INTEGER NOT NULL,
	size INTEGER NOT NULL,
	body BLOB,
	text BLOB,
	find1 INTEGER,
	find2 INTEGER,
	sum BLOB NOT NULL,
	data BLOB NOT NULL
);
CREATE UNIQUE INDEX entry_seq ON entry(session, seq);
CREATE INDEX entry_body ON entry(body, session) WHERE body IS NOT NULL;
CREATE INDEX entry_find1 ON entry(find1) WHERE find1 IS NOT NULL;
CREATE INDEX entry_find2 ON entry(find2) WHERE find2 IS NOT NULL;
CREATE TABLE blob(
	id INTEGER PRIMARY KEY,
	tenant BLOB NOT NULL,
	hash BLOB NOT NULL,
	size INTEGER NOT NULL,
	codec INTEGER NOT NULL,
	data BLOB NOT NULL
);
CREATE UNIQUE INDEX blob_hash ON blob(hash, tenant);
CREATE TABLE text(
	entry INTEGER PRIMARY KEY,
	size INTEGER NOT NULL,
	codec INTEGER NOT NULL,
	data BLOB NOT NULL
);
CREATE TABLE pending(
	session INTEGER NOT NULL,
	entry INTEGER NOT NULL,
	done INTEGER NOT NULL,
	PRIMARY KEY(session, entry)
) WITHOUT ROWID;
CREATE TABLE indexed(
	session INTEGER PRIMARY KEY,
	places INTEGER NOT NULL,
	words INTEGER NOT NULL
);
CREATE TABLE place(
	id INTEGER PRIMARY KEY,
	seq INTEGER NOT NULL,
	line INTEGER NOT NULL,
	lines INTEGER NOT NULL,
	start INTEGER NOT NULL,
	size INTEGER NOT NULL
);
CREATE VIRTUAL TABLE word USING fts5(words, content='', contentless_delete=1, tokenize="ascii tokenchars '/._-'");
CREATE VIRTUAL TABLE word_at USING fts5vocab(word, instance);
CREATE TABLE claim(
	work BLOB PRIMARY KEY,
	token BLOB NOT NULL,
	expires INTEGER NOT NULL
) WITHOUT ROWID;
