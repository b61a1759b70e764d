# goodput: `make demo` runs the main job, `make test` the tests.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X goodput/cmd/internal/cli.version=$(VERSION)
TOOL    := $(GO) tool -modfile=cmd/tools/tools.mod
FUZZTIME ?= 10s
export CGO_ENABLED = 0

.DEFAULT_GOAL := help
.PHONY: help screens build demo test race validate refit fuzz bench lint lint-full fmt dag e2e nightly tidy ci clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the static binary bin/goodput
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/goodput ./cmd/goodput

demo: build ## a virtual-time load test of 4 fake engines under a prefix-repetition load
	@rm -rf runs/demo
	bin/goodput run --request-rate 40 --num-prompts 4000 --replicas 4 --router least-outstanding \
		--dataset-name prefix_repetition --prefix-repetition-num-prefixes 20 --prefix-repetition-prefix-len 1024 \
		--goodput ttft:500 --goodput tpot:25 --out runs/demo
	@echo
	@echo "Every request is a row of runs/demo/requests-*.parquet. With DuckDB:"
	@echo "  duckdb -c \"select outcome, count(*) as n, quantile_disc(ttft, 0.95)/1e6 as ttft_p95_ms from 'runs/demo/requests-*.parquet' group by outcome\""

screens: ## draw the screens of README anew, and as PNG into bin/screens if chromium is there
	$(GO) test -count=1 -run TestScreens ./cmd/internal/cli -update-screens
	@if command -v chromium >/dev/null; then mkdir -p bin/screens && for f in report/tui/screens/*.svg; do \
		chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=872,562 \
			--screenshot=bin/screens/$$(basename $$f .svg).png file://$(CURDIR)/$$f >/dev/null 2>&1 || exit 1; done; \
		echo "PNG in bin/screens"; fi

test: ## run all tests
	$(GO) test ./...

race: ## run all tests, shortened, under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short ./...

validate: ## the error rates of gates and knees over hundreds of comparisons (minutes)
	GOODPUT_VALIDATE=1 $(GO) test -count=1 -timeout 2h -run "TestGateErrorRates|TestKneeErrorRates" -v ./cmd/internal/cli

POINTS ?= ../shared/calibration
refit: build ## fit the shipped GPU profiles again from the tables in POINTS, and compare (minutes)
	@set -e; out=$$(mktemp -d); bad=0; for f in $$(grep -l '^#   goodput profile fit' profiles/gpu/*.yaml); do \
		fit=$$(sed -n 's/^#   goodput profile fit //p' "$$f"); \
		(cd $(POINTS) && $(CURDIR)/bin/goodput profile fit $$fit --out "$$out/made.yaml" >/dev/null); \
		if cmp -s "$$out/made.yaml" "$$f"; then echo "same: $$f"; else echo "differs: $$f"; diff "$$f" "$$out/made.yaml" || bad=1; fi; \
	done; rm -r "$$out"; exit $$bad

# One program for all targets of a package: go test -fuzz makes one for each.
fuzz: ## fuzz each target for FUZZTIME (default 10s; 5000x counts runs)
	@set -e; out=$$(mktemp -d); trap 'rm -r "$$out"' EXIT; cache=$$($(GO) env GOCACHE)/fuzz; \
	for d in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		$(GO) test -c -fuzz . -o "$$out/fuzz.test" $$d; p=$$($(GO) list $$d); \
		for f in $$(cd $$d && "$$out/fuzz.test" -test.list '^Fuzz'); do \
			echo "fuzz $$p $$f"; \
			(cd $$d && "$$out/fuzz.test" -test.run '^$$' -test.fuzz "^$$f\$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir "$$cache/$$p"); \
		done; done

bench: build ## run the benchmarks, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./...

lint: ## vet, staticcheck and gofumpt
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	@out=$$($(TOOL) gofumpt -l .); if [ -n "$$out" ]; then echo "not gofumpt:"; echo "$$out"; exit 1; fi

lint-full: ## golangci-lint as well (its first build takes over 20 minutes)
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run ./...

fmt: ## format the code
	$(TOOL) gofumpt -w .

dag: ## check the direction of imports
	$(GO) test -run TestImportDAG ./cmd/internal/cli

e2e: build ## end-to-end: nginx, HAProxy, DuckDB, tmux (see .ci/run for what they need)
	GOODPUT_E2E=1 $(GO) test -count=1 -run TestE2E -v ./cmd/goodput

nightly: build ## the routers that take long to install: Portkey (npm) and Caddy, where it is installed
	cd .ci/portkey && npm install --no-audit --no-fund --no-package-lock --ignore-scripts --silent
	GOODPUT_NIGHTLY=1 $(GO) test -count=1 -run TestNightly -v ./cmd/goodput

tidy: ## fail if go.mod is not tidy
	$(GO) mod tidy -diff

ci: ## what CI runs
	bash .ci/run

clean: ## remove what was built and run
	rm -rf bin runs
