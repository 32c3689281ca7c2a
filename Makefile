# SPDX-License-Identifier: BSD-3-Clause
# The two commands of the README are `make demo` and `make check`; both install what they miss, and build what they need.
# BUDGET (seconds) bounds the long campaigns: make torture BUDGET=3600
BUDGET ?= 600
BUILD := build
# How everything is built: CMakePresets.json. In continuous integration: ci, where warnings are errors.
PRESET ?= release
configure = cmake --preset $(1) > $(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }; rm -f $(BUILD).log

.PHONY: all core setup build demo test one check coverage bench torture downstream figures site format tidy deb deb-check clean

all: core

# The library, its commands and the examples; in a build folder that has more, all of it.
core:
	@tools/setup --core
	@[ -f $(BUILD)/CMakeCache.txt ] || { $(call configure,core); }
	@cmake --build $(BUILD)

setup:
	@tools/setup

# Everything: tests, simulator, benchmarks, too.
build: setup
	@$(call configure,$(PRESET))
	@cmake --build --preset $(PRESET)

# What the demo runs, and nothing else.
demo:
	@tools/setup --core
	@[ -f $(BUILD)/CMakeCache.txt ] || { $(call configure,core); }
	@cmake --build $(BUILD) --target rzrun rzd rzps hpccg
	@tools/demo

# The quick tier, for the daily round: unit tests, and a job of each kind.
test: build
	@ctest --test-dir $(BUILD) -L quick --output-on-failure -j $(shell nproc)

# One test, from nothing or not: make one TEST=cli_quantity. A test without a program of its name needs all of the build.
one:
	@[ -n "$(TEST)" ] || { echo "make one TEST=NAME: a test's name, as ctest -N lists them" >&2; exit 2; }
	@tools/setup
	@[ -f $(BUILD)/CMakeCache.txt ] || { $(call configure,$(PRESET)); }
	@ctest --test-dir $(BUILD) -N -R '^$(TEST)$$' | grep -q 'Total Tests: 1$$' || { echo "make one: there is no test $(TEST): ctest --test-dir $(BUILD) -N" >&2; exit 2; }
	@cmake --build $(BUILD) $$(ninja -C $(BUILD) -t targets all | grep -q '^$(TEST):' && echo --target $(TEST))
	@ctest --test-dir $(BUILD) -R '^$(TEST)$$' --output-on-failure

# Release build and all tests, then the parts that run under sanitizers; ctest's summary is the last word. SLOW=drawn: of the slow
# tests some, as .ci/run does.
check:
	@tools/setup --check
	@$(MAKE) --no-print-directory build
	@SLOW=$(SLOW) tools/check

# Lines and branches that the quick tier reaches, module by module, and the floors that CI holds.
coverage: setup
	@tools/coverage --check

bench: build
	@$(BUILD)/bin/rzbench all

torture: build
	@tools/sample asan --build-only
	@tools/sample tsan --build-only
	@-tools/setup --downstream && python3 -B tools/downstream --build-only --build $(BUILD)
	@tools/torture --budget $(BUDGET)

# Other people's test suites (docs/downstream.md): make downstream [NAME...] [BUDGET=3600]
ifeq ($(firstword $(MAKECMDGOALS)),downstream)
suites := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(suites)
$(suites):
	@:
endif
downstream: BUDGET = 3600
downstream: core
	@tools/setup --downstream
	@python3 -B tools/downstream $(suites) --budget $(BUDGET) --build $(BUILD) --report docs/reports/downstream.md

figures: build
	@tools/figures --budget $(BUDGET)

# docs/ and the reference as pages, in build/site.
site: build
	@tools/setup --site
	@tools/site --build $(BUILD) --out $(BUILD)/site

# The packages of Debian, in build/packages: make deb RELEASE=13 (default: the release of this machine). deb-check: of both releases, and whether
# they can be installed, used, upgraded and removed; its report is docs/reports/packages.md.
deb:
	@tools/setup --packages
	@tools/deb $(if $(RELEASE),--release $(RELEASE))

deb-check:
	@tools/setup --packages
	@tools/deb-check

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

tidy: build
	@tools/tidy
	@tools/tidy --clang

clean:
	rm -rf $(BUILD)
