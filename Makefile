# The project's commands. `make help` lists them.

.POSIX:
.SILENT:
.PHONY: help run test peers peers-table bench fuzz

# How long `make fuzz` spends on each target.
SECONDS = 60

help:
	echo 'make run              build, then send the example capture through the whole gateway'
	echo 'make test             all tests, and those beside other programs where these are there'
	echo 'make peers            Weir beside its peers, the same work in one run; out/peers.json'
	echo 'make peers-table      the table of the README, from the rows in out/peers.json'
	echo 'make bench            benchmarks'
	echo 'make fuzz SECONDS=60  each parser under libFuzzer, or without it where it is missing'

# Alerts are appended to their file, as logs are; each of these runs begins a
# new one.
run:
	cargo build --release
	mkdir -p out
	rm -f out/alerts.jsonl
	"$${CARGO_TARGET_DIR:-target}/release/weir" run examples/gateway.toml

# The interoperability tests run the program as it is shipped, and skip what
# they cannot do.
test:
	cargo test
	if command -v python3 >/dev/null; then \
		cargo build --release --quiet && \
		for script in tests/interop/test_*.py; do \
			echo "$$script"; \
			WEIR="$${CARGO_TARGET_DIR:-target}/release/weir" python3 "$$script" || exit 1; \
		done; \
	else \
		echo 'tests/interop: skipped, there is no python3'; \
	fi

# For the processor at hand: RustCrypto's ciphers are two to three times as fast
# when the compiler may use its instructions everywhere. The other subjects ask
# the processor when they run; they gain little, and lose nothing.
PEERS = RUSTFLAGS="$${RUSTFLAGS:--C target-cpu=native}" \
	cargo run --release --package weir-peers -- out/peers.json

peers:
	mkdir -p out
	$(PEERS)

peers-table:
	$(PEERS) --table

bench:
	cargo bench

# libFuzzer keeps what it finds beside the committed corpus, not in it.
fuzz:
	if cargo +nightly fuzz --version >/dev/null 2>&1; then \
		for target in $$(cargo +nightly fuzz list); do \
			mkdir -p "fuzz/artifacts/corpus/$$target" && \
			cargo +nightly fuzz run "$$target" \
				"fuzz/artifacts/corpus/$$target" "fuzz/corpus/$$target" -- \
				-max_total_time=$(SECONDS) -max_len=16384 -timeout=20 || exit 1; \
		done; \
	else \
		echo 'make fuzz: without libFuzzer, for want of a nightly toolchain or of cargo-fuzz'; \
		cargo run --manifest-path fuzz/Cargo.toml --bin replay -- --seconds $(SECONDS); \
	fi
