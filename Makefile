# What one types here. `make` alone lists it; all set-up is done by the targets that need it.

# RABBITMQ=4.0 or 4.3: that version, unpacked under target/. Without it the one that is installed is used.
ifdef RABBITMQ
export DLO_TEST_RABBITMQ = $(RABBITMQ)
endif

# Tests mostly wait for servers, so more of them run at once than there are processors.
export RUST_TEST_THREADS ?= $(shell echo $$((4 * $$(nproc))))

# How long each test that searches at random does so, in milliseconds.
export ARBTEST_BUDGET_MS ?= 300

# What others show in the small.
LONG := $(shell sed 's/#.*//' tests/long.txt)

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-long screenshots soak docs frameworks bench lint validate package clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## installs RabbitMQ, PostgreSQL, Chromium, promtool, systemd and the clients that the tests use, where they are missing
	@tests/rig/setup.sh

demo: ## dlo and three failing services on a private RabbitMQ, at http://127.0.0.1:8420, until Ctrl-C
	@tests/rig/setup.sh rabbitmq
	@tests/rig/demo.sh

# The feature is the tests', so that nothing is compiled twice. The templates are compiled with the code.
check: ## format, clippy, unit tests and templates, without any server; below a minute once the dependencies are built
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features crash-points -- -D warnings
	cargo test --workspace --features crash-points --lib --bins --quiet

test: setup ## the tests; nothing is skipped. With RABBITMQ=4.0 or 4.3 on that version, as demo and bench too
	DLO_TEST_REQUIRE=all cargo test --features crash-points -- --exact $(LONG:%=--skip %)

test-long: setup ## the tests that take long, which are in tests/long.txt; with `make test` that is all of them
	DLO_TEST_REQUIRE=all cargo test --features crash-points --test it -- --exact $(LONG)

# They are those of one test, which looks at all pages in light and dark at three widths.
screenshots: setup ## of every page in light and dark at 390 and 1280 px, into target/screenshots
	DLO_TEST_SCREENSHOTS=$(CURDIR)/target/screenshots DLO_TEST_REQUIRE=all \
	  cargo test --features crash-points --test it -- web::browser::looks::every_page

soak: setup ## all tests with larger numbers: more kills, more messages, longer lives; takes several times as long
	DLO_TEST_SOAK=1 ARBTEST_BUDGET_MS=10000 DLO_TEST_REQUIRE=all cargo test --features crash-points

docs: ## writes the pages of docs/reference that are made from the program
	DLO_WRITE_DOCS=1 cargo test --features crash-points --test it -- docs::

# RABBITMQ chooses the version, as for the tests. What is expected is in tests/frameworks/expected.json.
frameworks: ## drives real frameworks in their usual set-ups; ONLY=celery,pika/default some, POSTGRES=1 on that database
	@tests/rig/setup.sh rabbitmq $(if $(POSTGRES),postgres)
	@tests/frameworks/setup.sh
	cargo build --features crash-points --bin dlo --example hand_over
	@target/frameworks/venv/bin/python tests/frameworks/run.py $(if $(ONLY),--only $(ONLY)) $(if $(POSTGRES),--postgres)

# DLO_TEST_CORPUS names a folder with a large corpus, see CONTRIBUTING.md; without it guesses are measured on a small one.
bench: ## runs the benchmarks
	@tests/rig/setup.sh rabbitmq postgres
	DLO_TEST_REQUIRE=all cargo bench --bench dlo

# What it needs is kept under target/tools, and built or fetched once.
lint: ## format, clippy, and licences, origins and advisories of what is used
	cargo fmt --check
	cargo clippy --workspace --all-targets --features crash-points -- -D warnings
	@PATH="$$(tests/rig/tool.sh cargo-deny):$$PATH"; export PATH; cargo deny check bans licenses sources && \
	  if cargo deny fetch db; then cargo deny check --disable-fetch advisories; \
	  else echo "lint: advisories cannot be had from here, and are not checked"; fi

validate: ## what is in packaging and .github, by the schemas of those who read it
	@packaging/validate.sh

package: ## a static binary, a .deb and a container image, in target/package; packaging/try-deb.sh and try-image.sh try them
	@tests/rig/setup.sh package
	@packaging/package.sh

clean: ## deletes target/, all data of tests and demo included
	cargo clean
