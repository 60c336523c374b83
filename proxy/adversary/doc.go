// Package adversary has only tests: conversations made to break the proxy, a program with the library's loop, and
// judges of what reaches a provider. It shares no code with the engine. The rules of the wires are
// written here once more, from what the providers document, so that a mistake in the
// engine's own checks is not made twice.
package adversary
