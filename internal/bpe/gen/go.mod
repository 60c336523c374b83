module github.com/pleat-dev/pleat/internal/bpe/gen

go 1.26.0

require github.com/pkoukk/tiktoken-go-loader v0.0.2
