package agentdb

import "github.com/pleat-dev/pleat/sessionlog"

// tables is a form in which an agent keeps sessions in a database: a table of sessions, whose key is id, and one with
// a row for each message, which says its session in session_id.
type tables struct {
	agent    sessionlog.Format
	sessions string
	about    string // its columns that are read, as far as they are there
	messages string
	body     string // the column with what was said, by which the form is known
	beside   string // others that are read, as far as they are there
	order    string // of the messages
	changed  string // when a message was written, in milliseconds
	parts    string // a table with what was said in a message, in the same column; "": there is none
}

const aboutOpenCode = "id parent_id title directory version"

// known are the forms, the newest of an agent first.
var known = []tables{
	{
		sessionlog.OpenCode, "session_v2", aboutOpenCode, "session_message", "data", "type time_created", "seq",
		"time_updated", "",
	},
	{ // what 1.18 is told to keep in the newer form
		sessionlog.OpenCode, "session", aboutOpenCode, "session_message", "data", "type time_created", "seq",
		"time_updated", "",
	},
	{
		sessionlog.OpenCode, "session", aboutOpenCode, "message", "data", "time_created", "time_created, id",
		"time_updated", "part",
	},
	{
		"goose", "sessions", "id name description working_dir model_config_json " +
			"accumulated_input_tokens accumulated_output_tokens",
		"messages", "content_json", "role created_timestamp metadata_json", "id", "created_timestamp * 1000", "",
	},
	{
		"crush", "sessions", "id title parent_session_id cost", "messages", "parts",
		"role model created_at is_summary_message", "created_at, rowid", "updated_at * 1000", "",
	},
}
