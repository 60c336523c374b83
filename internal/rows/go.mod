module github.com/pleat-dev/pleat/internal/rows

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/pleat-dev/pleat v0.1.0
)
