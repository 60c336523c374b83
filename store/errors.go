package store

import "errors"

// The errors of all stores. What wraps one of these says which object it is about.
var (
	// ErrNotFound: the session, entry or body is not in the store, or not in this session.
	ErrNotFound = errors.New("not found")
	// ErrConflict: somebody else appended to the session first. Scan what is new, then
	// try again.
	ErrConflict = errors.New("session has moved on")
	// ErrCorrupt: stored bytes do not have the hash they were stored under, or entries
	// are missing. The error names the file or object.
	ErrCorrupt = errors.New("stored data is damaged")
	// ErrFull: the disk is full, or the store has reached its limit. Nothing was written.
	ErrFull = errors.New("store is full")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrReadOnly: the store was opened for reading only, or cannot be written to.
	ErrReadOnly = errors.New("store can only be read")
	// ErrSchema: the store was written by another version of pleat. The error says how to
	// bring its sessions over.
	ErrSchema = errors.New("store has another schema")
)
