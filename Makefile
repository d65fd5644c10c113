# Every target says what it does behind ##; `make help` is made from that.
GO      ?= go
TOOL    := $(GO) tool -modfile=configs/tools.mod
PKGS    ?= ./...
# Tests wait for processes: twice as many packages as cores are tested at once.
SIDE    := -p $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
BENCH   ?= .
ROUNDS  ?= 1
SEED    ?= 1
# The packages whose own code starts goroutines; those that only have locks are tested by their users too. Tests of whole programs
# have no races to find.
WHOLE   := ./cmd/divisi ./orchestrator
RACY     = $(shell grep -rlE '^\s*go [a-z]|\.Go.func|done\.Go|closing\.Go' --include='*.go' --exclude='*_test.go' . | xargs -n1 dirname | sort -u)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | expand -t 14

.PHONY: build
build: ## build bin/divisi
	$(GO) build -trimpath -o bin/divisi ./cmd/divisi

.PHONY: demo
demo: ## run the demo: a sample repository, a built-in plan, no key needed
	$(GO) run ./cmd/divisi demo

.PHONY: test
test: race ## run the tests, but for the long ones: where goroutines are started under the race detector; the linter vets
	$(GO) test -short -vet=off -ldflags=-w $(SIDE) -timeout 20m $(WHOLE) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACY))")

.PHONY: full
full: ## run all tests, the long ones too (PKGS=./bus to choose), and rounds of chaos
	$(GO) test -vet=off -ldflags=-w $(SIDE) -timeout 90m $(PKGS)
	$(MAKE) chaos ROUNDS=3
	$(MAKE) chaos ROUNDS=3 CHAOS=-three

.PHONY: race
race: ## run the tests of packages that start goroutines under the race detector, the kill tests at fewer places
	$(GO) test -race -short -vet=off -ldflags=-w $(SIDE) -timeout 20m $(RACY)

.PHONY: browser
browser: ## test the dashboard in a real browser (needs chromium)
	$(GO) test -tags browser -run Browser -count 1 ./orchestrator/dashboard

.PHONY: lint
lint: ## run the linters
	$(TOOL) golangci-lint run ./...

.PHONY: check
check: ## build all, lint and test the changed packages (BASE=origin/main for a branch)
	.ci/check

.PHONY: house
house: ## print the size of the product and of its packages
	.ci/house

.PHONY: fmt
fmt: ## format the code
	$(TOOL) golangci-lint fmt ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for a short while (FUZZTIME=60s for longer)
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-10s} $$p || exit 1; \
	  done; done

.PHONY: bench
bench: ## measure and print the figures (BENCH=Landing to choose, ROUNDS=5 for medians)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(ROUNDS)x -timeout 120m ./orchestrator/conductor ./orchestrator/acceptance
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 200x -timeout 30m ./bus ./internal/sandbox ./subagents/workspace
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 20x -timeout 30m ./contextscope/... ./subagents/agent ./subagents/loopguard

.PHONY: real
real: build ## try jobs on clones of public repositories in REPOS=DIR, beside a plain script (REAL="-only express -mutants 20")
	$(GO) run ./internal/testkit/real $(REAL) $(REPOS)

.PHONY: chaos
chaos: build ## kill, stop and cut off servers and workers in ROUNDS runs from SEED on; -resume goes on (CHAOS="-resume -table FILE")
	$(GO) run ./internal/testkit/chaos -rounds $(ROUNDS) -seed $(SEED) $(CHAOS) $${TMPDIR:-/tmp}/divisi-chaos

.PHONY: generate
generate: ## bundle the dashboard's page again
	$(GO) generate ./...

.PHONY: tidy
tidy: ## tidy the module file
	$(GO) mod tidy
