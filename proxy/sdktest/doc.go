// Package sdktest shows the proxy's transport under the providers' own Go SDKs. It is a
// module of its own so that nobody who uses pleat carries them.
package sdktest
