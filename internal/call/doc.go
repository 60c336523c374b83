// Package call asks model servers over HTTP: one request with its retries, its stream and
// its errors, the same for every wire format. What is sent and how an answer is read is
// the wire packages' business, see [Wire].
//
//   - The answer is streamed, because a stream shows that the server is alive: silence for
//     too long is an error, however long the whole answer takes.
//   - What may pass on a second try is tried again: too many requests, overload, failures
//     of the server, connections that break. The server says when, else the wait doubles
//     from a second on, without chance in it. An answer that broke off after pieces of it
//     were handed to the sink is not tried again, because the sink would get them twice.
//   - Redirects are not followed. They would take the key and the conversation to a host
//     that nobody named.
//   - The key is neither logged nor in an error, not even where the server repeats it.
package call
