# The front door; Meson and ninja do the work. `make help` lists what there is.
#
#   SAN=address|undefined|thread   builds with that sanitizer, in a directory of its own
#   SEED=n OPS=n                   for `make model`
#   SEED=n STATES=n                for `make powerloss`
#   SEED=n ROUNDS=n                for `make crash`
#   SEED=n MINUTES=n ENGINE=local CHAOS="--shrink ..."   for `make chaos`
#   SEED=n RUNS=n                  for `make moments`
#   MINUTES=n                      for `make fuzz` and `make soak`
#   QUICK=1                        for `make bench`, `make bench-streams` and `make bench-cluster`
#   BINARIES="before=PATH ..."     for `make bench-streams`

SAN ?=
SEED ?=
OPS ?= 1000000
STATES ?= 1000
ROUNDS ?= 200
RUNS ?= 50
MINUTES ?=
QUICK ?=
BINARIES ?=
ENGINE ?= replica
CHAOS ?= $(if $(filter replica,$(ENGINE)),--kafka)
# Where scripts/setup puts Node if there is none.
export PATH := $(CURDIR)/.node/bin:$(PATH)
BUILD := build$(if $(SAN),-$(SAN))
# The sanitizers need clang's interceptors to be the program's first library.
OPTIONS := $(if $(SAN),-Db_sanitize=$(SAN) -Db_lundef=false)

.PHONY: help setup tools everything build run cluster test lint fmt model replica-tests moments crash chaos powerloss faults fuzz soak clients bench bench-streams bench-cluster bench-kafka scaling screenshots deb test-deb release test-release clean

help:
	@sed -n 's/^## //p' Makefile

## make setup   install the packages that building, running and testing need
setup:
	@scripts/setup test

tools:
	@scripts/setup run

# Without the tests: what they need is not there when somebody only wants to run it.
$(BUILD)/build.ninja: | tools
	@echo "configuring $(BUILD)"
	@meson setup -Dtests=false $(OPTIONS) $(BUILD) >/dev/null

# A reconfiguration, once.
$(BUILD)/with-tests: | setup $(BUILD)/build.ninja
	@meson setup --reconfigure -Dtests=true $(BUILD) >/dev/null
	@touch $@

everything: $(BUILD)/with-tests
	@ninja -C $(BUILD) --quiet

## make build   build/tidings, build/libtidings.{a,so}, the pkg-config file, the manual page
build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet all-but-tests

## make run     a server with a demo community, on http://127.0.0.1:8080; Ctrl-C ends it
run: $(BUILD)/build.ninja
	@echo "building the server and its console (no tests); it starts when that is done"
	@ninja -C $(BUILD) tidings
	@$(BUILD)/tidings serve --dev

## make cluster  a throw-away MariaDB, Redis Cluster, Kafka and three servers with the demo community, on free ports; Ctrl-C ends them
cluster: $(BUILD)/build.ninja
	@scripts/setup cluster
	@ninja -C $(BUILD) tidings
	@scripts/cluster $(BUILD)/tidings

## make test    everything that must pass; SAN=address|undefined|thread for a sanitizer
test: everything
	@meson test -C $(BUILD) --print-errorlogs --no-rebuild --no-suite long

## make model   the long random test: SEED=1 OPS=1000000
model: everything
	@tests/model/run $(BUILD)/tests/model_test "$(SEED)" $(OPS)

## make replica-tests   what is long of servers that share a log: the suite long, the model, black-box tests, concurrency, console on three: SEED=1
ON_MYSQL := tests/support/with-mariadb --innodb-flush-method=nosync --sync-binlog=0 --max-allowed-packet=64M
ON_THREE := TIDINGS_BIN=$(BUILD)/tidings TIDINGS_TEST_ENGINE=replica TIDINGS_TEST_SERVERS=3 $(ON_MYSQL)
replica-tests: everything
	@meson test -C $(BUILD) --print-errorlogs --no-rebuild --suite long
	@$(ON_MYSQL) $(BUILD)/tests/model_test $(if $(SEED),--seed $(SEED)) --servers 3 --ops 10000
	@$(ON_THREE) tests/http/run -q
	@$(ON_THREE) $(BUILD)/tests/concurrency_test --seconds 20
	@$(ON_THREE) node --test --test-concurrency=1 $(filter-out %pictures.test.mjs,$(wildcard tests/console/*.test.mjs))

## make crash      kill -9 under 32 clients, again and again: SEED=1 ROUNDS=200
crash: everything
	@TIDINGS_BIN=$(BUILD)/tidings tests/support/in-venv tests/crash/crash.py --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

## make chaos      histories of clients while everything fails in turn, and a checker of them: SEED=1 MINUTES=30 ENGINE=replica|standby|local
chaos: everything
	@TIDINGS_BIN=$(BUILD)/tidings tests/support/in-venv tests/chaos/run.py --minutes $(or $(MINUTES),30) --engine $(ENGINE) \
		$(if $(SEED),--seed $(SEED)) $(CHAOS)

## make faults     every call to the storage fails once, in every way: SEED=1
faults: everything
	@$(BUILD)/tests/faults $(if $(SEED),--seed $(SEED))
	@$(BUILD)/tests/full || test $$? -eq 77

## make fuzz       the decoders and the API, from another seed each time: MINUTES=5 for each
fuzz: everything
	@FUZZ_SEED=0 FUZZ_SECONDS=$$(($(or $(MINUTES),5) * 60)) tests/fuzz/run

## make soak       mixed traffic while the clock runs: memory, log, images and data file must stop growing: MINUTES=60
soak: everything
	@TIDINGS_BIN=$(BUILD)/tidings SOAK_CLOCK=$(BUILD)/tests/libsoak_clock.so tests/support/in-venv tests/soak/soak.py \
		--minutes $(or $(MINUTES),60) --out $(BUILD)/soak

## make powerloss  what is left when the power fails, at many moments: SEED=1 STATES=1000
powerloss: everything
	@$(BUILD)/tests/powerloss --states $(STATES) $(if $(SEED),--seed $(SEED))
	@$(BUILD)/tests/powerloss --states $(STATES) --second $(if $(SEED),--seed $(SEED))

## make moments    the long test of restoring to moments: SEED=1 RUNS=50
moments: everything
	@tests/model/run_moments $(BUILD)/tests/model_test "$(SEED)" $(RUNS)

## make clients    clients made of the OpenAPI document in four languages, examples, linters
clients: everything
	@TIDINGS_BIN=$(BUILD)/tidings tests/clients/run -v

## make bench      measures against Redis and MariaDB, into docs/bench; QUICK=1: three minutes, into build/bench-results
bench: everything
	@scripts/setup-bench
	@BUILD=$(BUILD) bench/run $(if $(QUICK),--quick --out $(BUILD)/bench-results)

## make bench-streams  posts to 5,000 online fans, in three minutes; QUICK=1: one; BINARIES="before=PATH now=PATH": side by side
bench-streams: everything
	@BUILD=$(BUILD) bench/streams $(if $(QUICK),--quick) $(addprefix --binary ,$(BINARIES))

## make bench-cluster  replicas beside what people would do instead, into docs/bench; QUICK=1: three minutes, into build/bench-cluster
bench-cluster: everything
	@BUILD=$(BUILD) scripts/setup-bench
	@BUILD=$(BUILD) bench/cluster $(if $(QUICK),--quick --out $(BUILD)/bench-cluster)
	@$(if $(QUICK),true,$(MAKE) --no-print-directory scaling)

## make scaling    the model's and the simulation's tables in docs/SCALING.md, out of docs/bench/cluster.json
scaling:
	@bench/model.py --write
	@bench/simulation.py --write

## make bench-kafka  events a second to Kafka, and catching up, in two minutes; QUICK=1: one
bench-kafka: everything
	@BUILD=$(BUILD) bench/kafka $(if $(QUICK),--quick) --out $(BUILD)/bench-kafka.json

## make screenshots  the README's pictures of the console, anew
screenshots: everything
	@TIDINGS_BIN=$(BUILD)/tidings TIDINGS_SCREENSHOTS=1 node --test tests/console/pictures.test.mjs

## make deb     the Debian packages tidings and libtidings-dev, in build-deb
deb:
	@scripts/setup deb
	@scripts/deb build-deb

## make test-deb  installs them in a fresh Debian root, starts, stops, removes and purges; as root
test-deb:
	@scripts/setup deb
	@tests/deb/run $$(scripts/deb build-deb)

## make release  source, Debian packages and checksums of the commit that is checked out, in build-release/COMMIT
release:
	@scripts/setup deb
	@scripts/release build-release/$$(git describe --always --dirty)

## make test-release  builds the release twice: the bytes must be the same; into build-release/checked
test-release:
	@scripts/setup deb
	@tests/release/run build-release/checked

## make lint    formatting, static analysis, the direction of dependencies
lint: everything
	@scripts/lint

## make fmt     format the sources
fmt:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf build build-*
