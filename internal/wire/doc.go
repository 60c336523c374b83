// Package wire holds what the three wire formats have in common: where the elements of
// a request's message array lie in its bytes, how a view is spliced into them, the
// normal form under which a message is known again in the next request, and the stream
// of an answer.
//
// A format's package walks a body once with a [jsonspan.Cursor] and fills a [Body]: one
// [Element] a message, one [Place] a block. From then on editing is the same for all.
package wire
