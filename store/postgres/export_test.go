package postgres

// Versions are changed by tests that make up a next version.
var Versions = &versions
