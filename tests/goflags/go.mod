module nodeward/tests/goflags

go 1.19
