//go:build !purego

package jsonspan

// plain returns a length of data, inside a string literal, that is valid and
// does not contain the literal's end. It may be short of the truth, even zero;
// scanString looks at what follows itself. It never ends inside an escape.
//
// Portable code pays a mispredicted branch for most line breaks of a text, and
// a request is full of them. The vector code has no branch for escapes, which
// makes a whole walk about three times as fast as with -tags purego. It knows only the
// escapes \n \t \r \" and \\ and leaves the others to scanString.
func plain(data []byte) int {
	if !hasAVX2 {
		return 0
	}
	return plainBlocks(data)
}

// plainBlocks is plain for blocks of 64 bytes. It ends before the first byte
// that is no part of a string or that it does not know, or where less than a
// block is left.
//
//go:noescape
func plainBlocks(data []byte) int

func cpuid(leaf uint32) (eax, ebx, ecx uint32)
func xgetbv() uint32

// hasAVX2 is true if the processor has AVX2 and the system saves its registers.
var hasAVX2 = func() bool {
	const osxsave, avx, avx2, ymm = 1 << 27, 1 << 28, 1 << 5, 6
	if leaves, _, _ := cpuid(0); leaves < 7 {
		return false
	}
	_, _, features := cpuid(1)
	if features&osxsave == 0 || features&avx == 0 || xgetbv()&ymm != ymm {
		return false
	}
	_, extended, _ := cpuid(7)
	return extended&avx2 != 0
}()
