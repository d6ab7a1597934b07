module nodeward/conformance

go 1.24

require (
	cel.dev/expr v0.25.1
	google.golang.org/protobuf v1.36.10
)
