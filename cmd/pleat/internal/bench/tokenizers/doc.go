// Package tokenizers compares pleat's tokenizer with other libraries that do the same work.
package tokenizers
