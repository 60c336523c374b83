// Package adopt has whole programs that put pleat into other people's code: an eino agent, a
// langchaingo program, and a store in a bbolt file. It is a module of its own so that nobody
// who uses pleat carries them. The providers' SDKs are in proxy/sdktest.
package adopt
