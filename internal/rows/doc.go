// Package rows is what the stores in databases have in common: how sessions, entries,
// bodies and texts become rows, the checks that each row passes when it is read, and the
// steps of each operation. A store adds its SQL, as [Tables].
package rows
