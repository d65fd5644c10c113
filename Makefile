# Every target says what it does behind ##; `make help` is made from that.
GO      ?= go
TOOL    := $(GO) tool -modfile=configs/tools.mod
PKGS    ?= ./...
GOTEST  := $(GO) test -trimpath -vet=off -ldflags=-w
# Tests wait for processes: twice as many packages as cores are tested at once.
SIDE    := -p $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
BENCH   ?= .
ROUNDS  ?= 1
SEED    ?= 1
# What starts goroutines, but for packages whose tests are mostly other processes; of those with whole runs a part.
RACY    := ./bus ./internal/egress ./internal/gocache ./internal/sandbox/stage ./orchestrator/call ./orchestrator/client \
	./orchestrator/conduct ./orchestrator/console/... ./orchestrator/dashboard ./orchestrator/host ./orchestrator/hub \
	./orchestrator/mcpserver ./subagents/agent ./subagents/compact ./subagents/mcp ./subagents/service
RUNS    := ./orchestrator/conductor ./subagents/worker
RACES   := Crew|Grant|Lease|Pause|Cancel|Goal

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | expand -t 14

.PHONY: build
build: ## build bin/divisi
	$(GO) build -trimpath -o bin/divisi ./cmd/divisi

.PHONY: dist
dist: ## build the archives to publish in dist, with their sums, sizes and largest parts (TARGETS="linux/amd64" to choose)
	TARGETS="$(TARGETS)" .ci/dist

.PHONY: systems
systems: ## vet all for each system that dist builds for
	for t in $(or $(TARGETS),linux/amd64 linux/arm64 darwin/amd64 darwin/arm64); do echo $$t; \
	  CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet ./... || exit 1; done

.PHONY: demo
demo: ## run the demo: a sample repository, a built-in plan, no key needed
	@echo "building divisi: minutes where the build cache is empty"
	$(GO) run ./cmd/divisi demo

.PHONY: test
test: ## run the tests, but for slow and long ones (PKGS=./bus to choose); the linter vets
	$(GOTEST) -short -skip '^TestSlow' $(SIDE) -timeout 20m $(PKGS)

.PHONY: slow
slow: ## run the slow tests, whose names begin with TestSlow
	$(GOTEST) -short -run '^TestSlow' $(SIDE) -timeout 20m $$(grep -rl '^func TestSlow' --include='*_test.go' . | xargs dirname | sort -u)

.PHONY: full
full: ## run all tests, slow and long ones too (PKGS=./bus to choose), mutants and rounds of chaos
	$(GOTEST) $(SIDE) -timeout 90m $(PKGS)
	$(MAKE) race RACES=.
	$(MAKE) mutants
	$(MAKE) chaos ROUNDS=3
	$(MAKE) chaos ROUNDS=3 CHAOS=-three

.PHONY: race
race: ## run tests of packages that start goroutines under the race detector (RACES=. for all of those with whole runs)
	$(GOTEST) -race -short -skip '^TestSlow' $(SIDE) -timeout 20m $(RACY)
	$(GOTEST) -race -short $(SIDE) -timeout 20m -run '$(RACES)' $(RUNS)

.PHONY: mutants
mutants: ## break what all else counts on, a place at a time, and see tests fail (PACKAGES="bus internal/trust" to choose, DRY=1 to list)
	PACKAGES="$(PACKAGES)" DRY="$(DRY)" .ci/mutants

.PHONY: bench-page
bench-page: ## measure the page in a real browser (needs chromium)
	$(GO) test -tags browser -run '^$$' -bench Page -benchtime 1x -timeout 30m ./orchestrator/dashboard

.PHONY: browser
browser: ## test the dashboard in a real browser (needs chromium)
	$(GO) test -tags browser -run Browser -count 1 -parallel 4 ./orchestrator/dashboard

.PHONY: lint
lint: ## run the linters
	$(TOOL) golangci-lint run ./...

.PHONY: check
check: ## build all, lint and test the changed packages (BASE=origin/main for a branch)
	.ci/check

.PHONY: house
house: ## print the size of the product, of its packages and their imports (BASE=commit to compare with)
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
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 200x -timeout 30m ./bus ./cmd/divisi ./internal/sandbox ./subagents/workspace ./orchestrator/console
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 30m ./orchestrator ./orchestrator/dashboard ./orchestrator/forecast
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 20x -timeout 30m ./internal/model/gateway ./contextscope/... ./subagents/agent ./subagents/loopguard

.PHONY: prices
prices: ## see that no price of the table ends soon, nor the table is old (DAY=2026-12-20 for another day than today)
	DIVISI_PRICES=$(or $(DAY),$$(date +%F)) $(GO) test -count 1 -run TestPricesAreFresh ./internal/model

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
