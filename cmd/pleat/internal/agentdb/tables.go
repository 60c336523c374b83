package agentdb

import "github.com/pleat-dev/pleat/sessionlog"

// tables is a form in which an agent keeps sessions in a database: a table of sessions, and one with a
// row for each message. Their other columns are found when they are read: agents add some all the time.
type tables struct {
	agent    sessionlog.Format
	sessions string // its key is id
	messages string // each says its session in session_id
	body     string // the column with what was said, by which the form is known
	order    string // of the messages
	changed  string // when a message was written, in milliseconds
	parts    string // a table with what was said in a message, in the same column; "": there is none
}

// known are the forms, the newest of an agent first.
var known = []tables{
	{
		agent: sessionlog.OpenCode, sessions: "session_v2", messages: "session_message", body: "data", order: "seq",
		changed: "time_updated",
	},
	{ // what 1.18 is told to keep in the newer form
		agent: sessionlog.OpenCode, sessions: "session", messages: "session_message", body: "data", order: "seq",
		changed: "time_updated",
	},
	{
		agent: sessionlog.OpenCode, sessions: "session", messages: "message", body: "data", order: "time_created, id",
		changed: "time_updated", parts: "part",
	},
	{agent: "goose", sessions: "sessions", messages: "messages", body: "content_json", order: "id", changed: "created_timestamp * 1000"},
	{agent: "crush", sessions: "sessions", messages: "messages", body: "parts", order: "created_at, rowid", changed: "updated_at * 1000"},
}

// columns are the columns that have JSON. They are read as such, the others as what SQLite has.
var columns = map[string]bool{
	"data": true, "parts": true, "content_json": true, "metadata_json": true, "model_config_json": true, "model": true,
	"revert": true,
}
