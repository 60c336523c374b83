// Package pleattest helps to test what is built with pleat and for it.
//
// [TestStore] is the conformance suite for stores: an implementation of [pleat.Store]
// that passes it keeps the promises that the engine relies on.
package pleattest
