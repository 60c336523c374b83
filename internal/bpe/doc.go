// Package bpe counts tokens exactly as the encoding o200k_base does, fast enough to be
// asked on every request.
//
//	n := bpe.O200k().Count(text)
//
// # How a text becomes tokens
//
// First a splitter cuts the text into pieces: a word with the space before it, up
// to three digits, a run of punctuation, a run of white space. No token ever
// crosses the border of a piece. The encoding defines the pieces by a regular
// expression; here they are found by hand-written functions (split_word.go), because
// running the expression would take most of the time.
//
// Then each piece is turned into tokens. About nine pieces in ten are in the
// vocabulary as they stand and are one token. The others start as single bytes,
// and the adjacent pair whose union has the lowest rank in the vocabulary is
// joined, the leftmost first, until no union is in the vocabulary. Two
// implementations of that loop divide the work by length:
//
//   - merge_scan.go looks through all pairs each time: quadratic, but the fastest
//     for words;
//   - merge_heap.go keeps the pairs in a heap. A piece of more than 32 KB is merged
//     in parts, so that a megabyte of one letter does not take much memory.
//
// # Promises
//
// Counts equal those of OpenAI's own encoders for any valid UTF-8. The
// test vectors come from there. Two things can change that. A piece of more than
// 32 KB, such as a run of one letter, may count a few tokens more. And the splitter asks the
// standard library which characters are letters, marks, numbers and white space,
// so a character that Unicode assigned after the release known to the Go
// toolchain counts as a symbol.
//
// All text is ordinary text. Special tokens such as <|endoftext|> are spelled out
// in several tokens like any other characters, so a text cannot forge one.
//
// Text that is not valid UTF-8 is never altered or refused: each byte that is not
// part of a valid character counts as one symbol character of its own. Every byte
// of the input ends up in exactly one token.
//
// Nothing here allocates once it is warm. An Encoding is safe for concurrent use.
//
// # Cost
//
// The vocabulary is loaded at its first use, in some tens of milliseconds, and then
// takes about 10 MB for the life of the process. Each goroutine that is counting has
// some 400 KB of scratch memory, which is pooled; 1 MB once it has met a very long piece.
package bpe
