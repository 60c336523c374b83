package sessionlog

// Sessions that an agent keeps in a database are read as lines, one for each row:
//
//	{"db":AGENT,"file":DATABASE,"table":NAME,"row":{COLUMN:VALUE,…},"parts":[…]}
//
// The row of the session comes first, then those of its messages. Columns that have JSON have it as such; what
// is none is a string.

// rowOf recognizes the rows of an agent's databases.
func rowOf(agent Format) func(e value) bool {
	return func(e value) bool { return e.get("db").is(string(agent)) && e.get("row").isObject() }
}

// rows reads the session's row with head, and those of other tables with message.
func (l *Log) rows(head func(e, row value), message func(rec Record, e, row value) error) error {
	return l.lines(func(ln line, v value) error {
		row := v.get("row")
		if !rowOf(l.format.name)(v) {
			return errShape
		}
		if ln.num == 1 {
			l.info.SessionID = row.get("id").str()
			l.info.Title = row.get("title").str()
			head(v, row)
			return nil
		}
		return message(Record{Line: ln.num}, v, row)
	})
}
