module github.com/pleat-dev/pleat

go 1.26.0
