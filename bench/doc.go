// Package bench compares pleat with other libraries that do the same work. It is
// a module of its own so that none of them becomes a dependency of pleat.
package bench
