module github.com/pleat-dev/pleat

go 1.25.0
