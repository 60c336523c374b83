package agentdb_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/agentdb"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/sessionlog"
	_ "modernc.org/sqlite"
)

// The tables as opencode 1.18.33 makes them, as far as they are read, and those that its version 2 adds.
const (
	opencode = `
		CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text NOT NULL,
			version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
		CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
			time_updated integer NOT NULL, data text NOT NULL);
		CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
			time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
		CREATE INDEX part_message_id_id_idx ON part (message_id, id);
		CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
			seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);`
	opencode2 = `
		CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text,
			version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);`
	asked = `
		INSERT INTO session VALUES ('ses_1', NULL, '/work', 'A title', '1.18.33', 1000, 2000);
		INSERT INTO message VALUES ('msg_1', 'ses_1', 1000, 1000, '{"role":"user","time":{"created":1000}}');
		INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1000, 1000, '{"type":"text","text":"Find the gasket."}');
		INSERT INTO message VALUES ('msg_2', 'ses_1', 1500, 2000, '{"role":"assistant","modelID":"m"}');
		INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_1', 1500, 2000,
			'{"type":"step-finish","tokens":{"input":7,"output":2,"cache":{"read":3,"write":0}}}');
		INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_1', 1500, 2500, '{"type":"text",
			"text":"It is in the drawer."}');`
	asked2 = `
		INSERT INTO session_v2 VALUES ('ses_1', NULL, '/work', 'A title', '2.0.0', 1000, 2000);
		INSERT INTO session_message VALUES ('m1', 'ses_1', 'user', 1, 1000, 1000, '{"text":"Find the gasket."}');
		INSERT INTO session_message VALUES ('m2', 'ses_1', 'assistant', 2, 1500, 3000,
			'{"model":{"id":"m"},"content":[{"type":"text","text":"It is on the shelf."}],
			"tokens":{"input":7,"output":2,"reasoning":0,"cache":{"read":3,"write":0}}}');`
)

// database makes a database of statements, and closes it.
func database(t *testing.T, statements ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "opencode.db")
	db := open(t, name)
	for _, s := range statements {
		run(t, db, s)
	}
	must(t, db.Close())
	return name
}

func open(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+name+"?_pragma=journal_mode(WAL)")
	must(t, err)
	db.SetMaxOpenConns(1)
	return db
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// list is what a database has, and fails if something has been written beside it or to it.
func list(t *testing.T, name string) (names []string, err error) {
	t.Helper()
	before := files(t, filepath.Dir(name))
	folder, err := agentdb.Open(filepath.Dir(name))
	must(t, err)
	defer folder.Close()
	infos, err := folder.List(filepath.Base(name))
	for _, i := range infos {
		names = append(names, fmt.Sprintf("%s %d %d", i.Name(), i.Size(), i.ModTime().UnixMilli()))
	}
	unchanged(t, name, before)
	return names, err
}

// said is what was said in a session, and how its log begins.
func said(t *testing.T, name, id string) (texts []string, info sessionlog.Info, err error) {
	t.Helper()
	before := files(t, filepath.Dir(name))
	in, err := agentdb.OpenFile(filepath.Join(name, id))
	if err != nil {
		unchanged(t, name, before)
		return nil, info, err
	}
	defer in.Close()
	log, err := sessionlog.Open(in, nil)
	if err != nil {
		return nil, info, err
	}
	for rec, err := range log.Records() {
		if err != nil {
			return texts, info, err
		}
		texts = append(texts, rec.Message.Text())
	}
	unchanged(t, name, before)
	return texts, log.Info(), nil
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		all[e.Name()] = string(data)
	}
	return all
}

func unchanged(t *testing.T, name string, before map[string]string) {
	t.Helper()
	for file, data := range files(t, filepath.Dir(name)) {
		if old, ok := before[file]; !ok || old != data {
			t.Errorf("%s was written", file)
		}
		delete(before, file)
	}
	if len(before) > 0 {
		t.Errorf("files are gone: %d", len(before))
	}
}

func TestOpenCode(t *testing.T) {
	name := database(t, opencode, asked)
	got, err := list(t, name)
	if want := []string{"ses_1 246 2500"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the database has %q, want %q, error %v", got, want, err)
	}
	texts, info, err := said(t, name, "ses_1")
	want := []string{"Find the gasket.", "It is in the drawer."}
	if err != nil || !slices.Equal(texts, want) {
		t.Errorf("said %q, want %q, error %v", texts, want, err)
	}
	if info.Title != "A title" || info.Dir != "/work" || info.Version != "1.18.33" || info.SessionID != "ses_1" ||
		info.Model != "m" {
		t.Errorf("the log says %+v", info)
	}
}

// A session that version 2 took over is read from its tables, unless the older version went on with it.
func TestOpenCodeBothForms(t *testing.T) {
	for _, tt := range []struct{ name, then, want string }{
		{"taken over", "", "It is on the shelf."},
		{"gone on with in version 1", `UPDATE message SET time_updated = 4000 WHERE id = 'msg_2'`, "It is in the drawer."},
		{"in version 2 only", `DELETE FROM part; DELETE FROM message`, "It is on the shelf."},
		{"not taken over yet", `DELETE FROM session_message; DELETE FROM session_v2`, "It is in the drawer."},
		{
			"updated in place",
			`UPDATE session_message SET data = replace(data, 'shelf', 'roof'), time_updated = 5000 WHERE id = 'm2'`,
			"It is on the roof.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := database(t, opencode, opencode2, asked, asked2, tt.then)
			if got, err := list(t, name); err != nil || len(got) != 1 {
				t.Errorf("the database has %q, want one session, error %v", got, err)
			}
			texts, _, err := said(t, name, "ses_1")
			if want := []string{"Find the gasket.", tt.want}; err != nil || !slices.Equal(texts, want) {
				t.Errorf("said %q, want %q, error %v", texts, want, err)
			}
		})
	}
}

// TestWriter is the agent of the test below, in a process of its own: those of one process share the index of a
// log. It runs the statements that it reads, one a line, and says when it has.
func TestWriter(t *testing.T) {
	name := os.Getenv("PLEAT_TEST_WRITES")
	if name == "" {
		t.Skip("not asked for")
	}
	db := open(t, name)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("done") {
		run(t, db, in.Text())
	}
	os.Exit(0) // like one that is killed: the database stays open
}

// writer begins an agent, and returns what tells it to run a statement.
func writer(t *testing.T, name string) func(statement string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriter$")
	cmd.Env = append(os.Environ(), "PLEAT_TEST_WRITES="+name)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return func(statement string) {
		t.Helper()
		fmt.Fprintln(in, strings.ReplaceAll(statement, "\n", " "))
		if !lines.Scan() || lines.Text() != "done" {
			t.Fatalf("%s: %q, %v", statement, lines.Text(), lines.Err())
		}
	}
}

// The tables of Goose 1.30 and of Crush 0.90, as far as they are read.
func TestOthers(t *testing.T) {
	for _, tt := range []struct{ agent, statements, id, title string }{
		{
			"goose", `
			CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL,
				updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, accumulated_input_tokens INTEGER, model_config_json TEXT);
			CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
				role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
			INSERT INTO sessions VALUES ('20260102_1', 'A title', '/work', '2026-01-02 10:00:00', 1000000,
				'{"model_name":"claude-opus-4-5"}');
			INSERT INTO messages VALUES (1, NULL, '20260102_1', 'user', '[{"type":"text","text":"Find the gasket."}]', 1767348000, NULL),
				(2, NULL, '20260102_1', 'assistant', '[{"type":"text","text":"It is in the drawer."}]', 1767348001, '{}')`,
			"20260102_1", "A title",
		},
		{
			"crush", `
			CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, cost REAL NOT NULL DEFAULT 0.0,
				updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL);
			CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
				parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
			INSERT INTO sessions VALUES ('m$$t/1', NULL, 'A title', 0.25, 1767348001, 1767348000);
			INSERT INTO messages VALUES
				('z', 'm$$t/1', 'user', '[{"type":"text","data":{"text":"Find the gasket."}}]', NULL, 1767348000, 1767348000),
				('a', 'm$$t/1', 'assistant', '[{"type":"text","data":{"text":"It is in the drawer."}}]', 'm', 1767348000, 1767348001)`,
			"m$$t%2F1", "A title",
		},
	} {
		name := database(t, tt.statements)
		got, err := list(t, name)
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], tt.id+" ") || !strings.HasSuffix(got[0], " 1767348001000") {
			t.Errorf("the database has %q, error %v", got, err)
		}
		texts, info, err := said(t, name, tt.id)
		if want := []string{"Find the gasket.", "It is in the drawer."}; err != nil || !slices.Equal(texts, want) {
			t.Errorf("%s: said %q, want %q, error %v", tt.agent, texts, want, err)
		}
		if info.Title != tt.title || string(info.Format) != tt.agent || (info.Used == nil) == (info.USD == 0) {
			t.Errorf("the log says %+v", info)
		}
	}
}

// While its agent writes to a database, everything that is committed is read, nothing is in the way of the agent,
// and nothing of it is written.
func TestBesideAWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "opencode.db")
	write := writer(t, name)
	write(opencode + asked)
	for i := range 3 {
		write(`BEGIN IMMEDIATE; UPDATE part SET data = '{"type":"text","text":"Not yet."}' WHERE id = 'prt_2'`)
		texts, _, err := said(t, name, "ses_1")
		if err != nil || len(texts) != 2 || texts[1] != "It is in the drawer." {
			t.Errorf("round %d: said %q, error %v", i, texts, err)
		}
		write("ROLLBACK")
		write(fmt.Sprintf(`UPDATE part SET time_updated = %d WHERE id = 'prt_2'`, 5000+i))
		if got, err := list(t, name); err != nil || !strings.HasSuffix(got[0], fmt.Sprint(5000+i)) {
			t.Errorf("the database has %q, error %v", got, err)
		}
	}
	write("PRAGMA wal_checkpoint(TRUNCATE)")
	if got, err := list(t, name); err != nil || len(got) != 1 {
		t.Errorf("after a checkpoint the database has %q, error %v", got, err)
	}
	write("PRAGMA locking_mode=EXCLUSIVE; DELETE FROM part")
	if got, err := list(t, name); err != nil && !strings.Contains(err.Error(), "another program has") {
		t.Errorf("locked: %q, error %v", got, err)
	}
}

// An agent that was killed leaves a log. Where its index is lost, so that reading would make one, nothing is read.
func TestKilledWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "opencode.db")
	db := open(t, name)
	run(t, db, opencode+asked)
	copied := filepath.Join(t.TempDir(), "opencode.db")
	for file, data := range files(t, filepath.Dir(name)) {
		must(t, os.WriteFile(filepath.Join(filepath.Dir(copied), file), []byte(data), 0o600))
	}
	must(t, db.Close())
	if texts, _, err := said(t, copied, "ses_1"); err != nil || len(texts) != 2 {
		t.Errorf("said %q, error %v", texts, err)
	}
	must(t, os.Remove(copied+"-shm"))
	if _, err := list(t, copied); err == nil || !strings.Contains(err.Error(), "opencode.db-wal is there without") {
		t.Errorf("without the index: %v", err)
	}
	must(t, os.Remove(copied+"-wal"))
	if got, err := list(t, copied); len(got) > 0 || err == nil { // all of it was in the log
		t.Errorf("without the log: %q, error %v", got, err)
	}
}

func TestHostile(t *testing.T) {
	whole, err := os.ReadFile(database(t, opencode, asked))
	must(t, err)
	file := func(data []byte) func(*testing.T) string {
		return func(t *testing.T) string {
			name := filepath.Join(t.TempDir(), "opencode.db")
			must(t, os.WriteFile(name, data, 0o600))
			return name
		}
	}
	of := func(statements ...string) func(*testing.T) string {
		return func(t *testing.T) string { return database(t, statements...) }
	}
	for _, tt := range []struct {
		name string
		make func(*testing.T) string
		want string
	}{
		{"empty", file(nil), "the database is empty"},
		{"no database", file([]byte(strings.Repeat("no database ", 1000))), "it is no SQLite database"},
		{"cut off", file(whole[:len(whole)-8192]), "damaged or cut off"},
		{"foreign tables", of(`CREATE TABLE session (id text); CREATE TABLE other (data text)`), "no tables of an agent"},
		{
			"views", of(`CREATE VIEW session AS SELECT 'a' AS id; CREATE VIEW message AS WITH RECURSIVE c(x) AS
			(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS session_id, x AS data FROM c;
			CREATE TABLE part (data text)`), "no tables of an agent",
		},
		{"folder", func(t *testing.T) string {
			name := filepath.Join(t.TempDir(), "opencode.db")
			must(t, os.Mkdir(name, 0o700))
			return name
		}, "not a regular file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := tt.make(t)
			if tt.name != "folder" {
				if got, err := list(t, name); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %q, error %v, want %q", got, err, tt.want)
				}
				return
			}
			folder, err := agentdb.Open(filepath.Dir(name))
			must(t, err)
			defer folder.Close()
			if _, err := folder.List("opencode.db"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A row whose JSON is broken costs that row.
func TestBrokenRow(t *testing.T) {
	name := database(t, opencode, asked, `
		INSERT INTO message VALUES ('msg_3', 'ses_1', 2100, 2100, '{"role":');
		INSERT INTO message VALUES ('msg_4', 'ses_1', 2200, 2200, '{"role":"user"}');
		INSERT INTO part VALUES ('prt_5', 'msg_4', 'ses_1', 2200, 2200, '"},{"type":"text');
		INSERT INTO part VALUES ('prt_6', 'msg_4', 'ses_1', 2200, 'soon', '{"type":"text","text":"Thanks."}');
		INSERT INTO message VALUES ('msg_5', 'ses_9', 'soon', 'soon', x'00ff');`)
	texts, info, err := said(t, name, "ses_1")
	if want := []string{"Find the gasket.", "It is in the drawer.", "Thanks."}; err != nil || !slices.Equal(texts, want) {
		t.Errorf("said %q, want %q, error %v", texts, want, err)
	}
	if info.Damaged != 2 {
		t.Errorf("%d rows are damaged, want 2: %v", info.Damaged, info.Damage)
	}
}

func TestNoSession(t *testing.T) {
	name := database(t, opencode, asked)
	if _, _, err := said(t, name, "ses_2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a session that is not there: %v", err)
	}
}

// A session that is larger than memory should be is refused, and one row of that size too.
func TestTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 300 MB")
	}
	name := database(t, opencode, asked, `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
		INSERT INTO part SELECT 'x' || i, 'msg_2', 'ses_1', 1, 1, '"' || hex(zeroblob(500000)) || '"' FROM n`)
	if _, _, err := said(t, name, "ses_1"); !errors.Is(err, sessionlog.ErrTooLarge) {
		t.Errorf("300 MB: %v", err)
	}
	name = database(t, opencode, asked, `UPDATE part SET data = '"' || hex(zeroblob(40000000)) || '"'`)
	if _, _, err := said(t, name, "ses_1"); err == nil || !strings.Contains(err.Error(), "more than 64 MB") {
		t.Errorf("a row of 80 MB: %v", err)
	}
}

// A million rows are listed in bounded memory.
func TestManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a million rows")
	}
	name := database(t, opencode, asked, `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
		INSERT INTO part SELECT 'x' || i, 'msg_2', 'ses_1', 1, 1, '{}' FROM n`)
	got, err := list(t, name)
	if err != nil || len(got) != 1 {
		t.Errorf("the database has %q, error %v", got, err)
	}
	if _, err := agentdb.OpenFile(filepath.Join(name, "ses_1")); err != nil {
		t.Error(err)
	}
}

// Other files are opened as they are.
func TestOtherFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.jsonl")
	must(t, os.WriteFile(name, []byte("x"), 0o600))
	in, err := agentdb.OpenFile(name)
	must(t, err)
	defer in.Close()
	if data, err := io.ReadAll(in); err != nil || string(data) != "x" {
		t.Errorf("read %q, error %v", data, err)
	}
}

var must = difftest.Must
