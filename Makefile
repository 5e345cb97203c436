# A thin front: CMake does the work. `make help` lists the targets: they are the lines here with two comment signs.
# `run` and `test` set a fresh machine up by themselves; nothing else but `setup` installs packages.
BUILD ?= build
PREFIX ?= /usr/local
RUN ?= ch09
WITHIN ?= 80
OUTPUT ?= runs/$(shell date +%Y%m%d-%H%M%S)
FUZZ_SECONDS ?= 30
CMAKE_FLAGS ?=
export BUILD

.PHONY: help run test build release install uninstall setup setup-checks check sanitize asan tsan fuzz format clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "Variables and defaults: BUILD=$(BUILD) PREFIX=$(PREFIX) RUN=$(RUN) WITHIN=$(WITHIN)"
	@echo "  FUZZ_SECONDS=$(FUZZ_SECONDS) OUTPUT=runs/DATE-TIME DESTDIR= CMAKE_FLAGS="

run: setup ## install what is missing, build, measure ch09 within WITHIN s
	@tools/build --for-run --only ridge $(BUILD) $(CMAKE_FLAGS)
	@$(BUILD)/ridge run $(RUN) --within $(WITHIN) --output $(OUTPUT)

test: setup ## install what is missing, build, run and count all tests
	@tools/build $(BUILD) $(CMAKE_FLAGS)
	@tests/run --build $(BUILD)

build: ## build everything, CUDA code for this machine's GPUs
	@tools/setup --missing
	@tools/build $(BUILD) $(CMAKE_FLAGS)

release: ## build libraries and command, CUDA code for every GPU
	@tools/setup --missing
	@tools/build --only "ridge ridge_ops ridge_ops_static libridge completions" $(BUILD) --preset release $(CMAKE_FLAGS)

install: ## build as BUILD is configured, install below PREFIX
	@tools/setup --missing
	@tools/build --only "ridge ridge_ops ridge_ops_static libridge completions" $(BUILD) $(CMAKE_FLAGS)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX) --strip

uninstall: ## remove what install wrote last, from DESTDIR too
	@tools/uninstall $(BUILD) "$(DESTDIR)"

setup: ## install the packages of run and test; say which and why
	@tools/setup

setup-checks: ## install those of check, sanitize and fuzz as well
	@tools/setup --checks

check: ## format, static analysis, rules, manual page, install
	@tools/setup --checks --missing
	@tools/check $(BUILD)

sanitize: asan tsan ## tests and a short verify under ASan + UBSan and TSan

asan tsan:
	@tools/setup --missing
	@tools/check-sanitizer $@

fuzz: ## fuzz ridge_apply and the parsers for FUZZ_SECONDS
	@tools/setup --checks --missing
	@tools/fuzz $(FUZZ_SECONDS)

format: ## rewrite the sources in the project's format
	@tools/check-format --write

clean: ## remove all build folders
	@rm -rf build build-*
