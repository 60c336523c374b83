module github.com/pleat-dev/pleat/store/postgres

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.11.0
	github.com/pleat-dev/pleat v0.1.0
	github.com/pleat-dev/pleat/internal/rows v0.1.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)
