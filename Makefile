# Every way to build and test; each recipe is one script or one preset. `make` alone prints this list.
.DEFAULT_GOAL := help
.PHONY: help setup build demo demo-real test test-long asan tsan switched-off conformance fuzz-smoke bench lint format clean

help:         ## Print this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
setup:        ## Install what is missing: Debian 12 packages, Go for the real API server of the tests
	@scripts/setup.sh
build: setup  ## Build the programs into build/release/bin
	@scripts/build.sh release labeler fault-quarantine nodeward
demo:         ## See it work on a simulated cluster, in seconds; NODES=10000 shows a fleet (your KUBECONFIG is never touched)
	@scripts/setup.sh demo
	@scripts/demo.sh $(if $(NODES),--nodes "$(NODES)")
demo-real: setup    ## The same on a real API server of its own
	@scripts/demo.sh --real
test: setup   ## Run all tests; the last line is the sum (some of them: scripts/test.sh FILTER)
	@scripts/test.sh
test-long: setup  ## The same with the long forms
	@scripts/test.sh --long
asan: setup   ## All tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/test.sh --preset asan
tsan: setup   ## All tests under ThreadSanitizer
	@scripts/test.sh --preset tsan
switched-off: setup  ## Switch mechanisms off, one by one: a test has to fail each time (ONLY=R13: some of them)
	@scripts/switched-off.sh $(ONLY)
conformance: setup  ## The CEL specification's own cases; the last line is the sum
	@scripts/conformance.sh
fuzz-smoke: setup   ## Each fuzzer for 15 s under ASan and UBSan (clang-16)
	@scripts/fuzz-smoke.sh
bench: setup  ## Run the measurements of docs/benchmarks.md
	@scripts/bench.sh
lint: setup   ## Check format and clang-tidy on files that differ from main
	@scripts/lint.sh
format: setup ## Let clang-format write the files that differ from main
	@scripts/lint.sh --fix
clean:        ## Remove build/ (the cache folder with the API server and Go stays)
	@rm -rf build
