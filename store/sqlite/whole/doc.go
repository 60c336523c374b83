// Package whole has tests of the engine, the agent and the proxy on SQLite stores, and of
// what earlier versions stored. They are here since the engine's module needs no other.
package whole
