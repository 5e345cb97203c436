# A thin front: CMake does the work. `make run` and `make test` set everything up by themselves.
#
#   make run        build, measure this machine and all pairs of ch09, show the table and the roofline
#   make test       build and run all tests; the closing line counts them
#   make check      format, static analysis, dependency rule, one-folder-a-target rule, manual page
#   make sanitize   unit tests and a short verification under ASan + UBSan and under TSan
#   make fuzz       fuzz ridge_apply and the readers of foreign files (FUZZ_SECONDS=30)
#   make format     rewrite the sources in the project's format
#   make install    DESTDIR and PREFIX as usual
BUILD ?= build
PREFIX ?= /usr/local
RUN ?= ch09
OUTPUT ?= runs/$(shell date +%Y%m%d-%H%M%S)
FUZZ_SECONDS ?= 30
CMAKE_FLAGS ?=
export BUILD

.PHONY: all setup build run test check format sanitize asan tsan fuzz install clean
all: build

setup:
	@tools/setup

build: setup
	@tools/build $(BUILD) $(CMAKE_FLAGS)

run: build
	@$(BUILD)/ridge run $(RUN) --output $(OUTPUT)

test: build
	@tests/run --build $(BUILD)

check:
	@tools/setup --checks
	@tools/check $(BUILD)

format:
	@tools/check-format --write

sanitize: asan tsan

asan: setup
	@tools/check-sanitizer asan

tsan: setup
	@tools/check-sanitizer tsan

fuzz:
	@tools/setup --checks
	@tools/fuzz $(FUZZ_SECONDS)

install: build
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf build build-*
