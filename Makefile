# The two commands of the README are `make demo` and `make check`; both install what is missing, and build.
# BUDGET (seconds) bounds the long campaigns: make torture BUDGET=3600
BUDGET ?= 600
BUILD := build
# How it is built: CMakePresets.json. In continuous integration: ci, where warnings are errors.
PRESET ?= release

.PHONY: all setup build demo check bench torture figures format tidy clean

all: build

setup:
	@tools/setup

build: setup
	@cmake --preset $(PRESET) > $(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@cmake --build --preset $(PRESET)

demo: build
	@tools/demo

# Release build and all tests, then the parts that run under sanitizers; ctest's summary is the last word.
check: build
	@tools/check

bench: build
	@$(BUILD)/bin/rzbench all

torture: build
	@tools/torture --budget $(BUDGET)

figures: build
	@tools/figures --budget $(BUDGET)

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

tidy: build
	@tools/tidy
	@tools/tidy --clang

clean:
	rm -rf $(BUILD)
