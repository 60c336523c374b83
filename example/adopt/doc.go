// Package adopt has whole programs that put pleat into other people's code: an eino agent, a
// langchaingo program, and a store in a bbolt file. It is a module of its own so that nobody
// who uses pleat carries them. The providers' SDKs are in proxy/sdktest.
//
// The sonic that eino v0.7.36 requires does not compile with Go 1.26; this module requires v1.15.5:
//
//	go get github.com/bytedance/sonic@v1.15.5
package adopt
