package sqlite

// Versions are changed by tests that make up a next version.
var Versions = &versions
