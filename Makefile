# The project's commands. `make help` lists them.

.POSIX:
.SILENT:
.PHONY: help run test install install-lab uninstall dist peers peers-aesni peers-table bench fuzz soak kills tunnels endurance reloads scraping

# How long `make fuzz` spends on each target, and how long `make soak` and `make endurance` last; how often `make kills`
# kills a gateway.
SECONDS = 60
KILLS = 100
# How often `make reloads` replaces the configuration, and further options of both commands.
RELOADS = 1000
OPTIONS =

help:
	echo 'make run              build, then send the example capture through the whole gateway'
	echo 'make test             all tests, and those beside other programs where these are there'
	echo 'make install          program, manual pages, completions and JSON Schemas under PREFIX (/usr/local), DESTDIR in front'
	echo 'make install-lab      the same of weir-lab, the models of stream processors'
	echo 'make uninstall        removes both'
	echo 'make dist             an archive of the program with documentation and licences, in out/'
	echo 'make peers            Weir beside its peers, the same work in one run; out/peers.json'
	echo 'make peers-aesni      the same, all of them limited to AES-NI and AVX2; out/peers-aesni.json'
	echo 'make peers-table      the tables of docs/speed.md, from the rows in these files'
	echo 'make bench            benchmarks'
	echo 'make fuzz SECONDS=60  each parser under libFuzzer, or without it where it is missing'
	echo 'make tunnels          ping, DNS, curl and iperf3 through two gateways, over clean and bad cables, at length; as root'
	echo 'make soak SECONDS=60  two live gateways under load and faults, as root; the last line is the verdict'
	echo 'make kills KILLS=100  the same, where nothing happens but that gateways are killed'
	echo 'make endurance SECONDS=600  live packets at the highest rate without loss, as root; OPTIONS="--rate 100000"'
	echo 'make scraping              what status, metrics and a reload every second cost the packet rate, as root'
	echo 'make reloads RELOADS=1000   a whole configuration is replaced under load, as root; OPTIONS="--workers 2"'

# Alerts are appended to their file, as logs are; each of these runs begins a
# new one.
run:
	cargo build --release --locked --package weir
	mkdir -p out
	rm -f out/alerts.jsonl
	"$${CARGO_TARGET_DIR:-target}/release/weir" run examples/gateway.toml

# Product and lab in one command, so that what both use is built once. Members left out need more
# than a checkout. The interoperability tests run the program as it is shipped, one on each core, and
# skip what they cannot do.
test:
	cargo test --workspace --exclude weir-peers \
		--exclude weir-constant-time --exclude weir-crypto-protocols
	if command -v python3 >/dev/null; then \
		cargo build --release --locked --package weir --quiet && \
		cargo build --release --locked --package weir-netlab --quiet && \
		printf '%s\n' tests/interop/test_*.py | \
		WEIR="$${CARGO_TARGET_DIR:-target}/release/weir" \
		WEIR_RELAY="$${CARGO_TARGET_DIR:-target}/release/weir-relay" \
		WEIR_EVERY_OPERATION="$${CARGO_TARGET_DIR:-target}/debug/examples/every_operation" \
		WEIR_SECURE_PACKETS="$${CARGO_TARGET_DIR:-target}/debug/examples/secure_packets" \
		xargs -P "$$(nproc)" -I '{}' sh -c \
			'said=$$(python3 {} 2>&1); status=$$?; printf "%s\n%s\n" {} "$$said"; exit $$status'; \
	else \
		echo 'tests/interop: skipped, there is no python3'; \
	fi

# Compiled for this processor: RustCrypto's ciphers are two to three times as fast
# when the compiler may use its instructions everywhere. The other candidates detect
# the processor when they run; they gain little, and lose nothing.
PEERS = RUSTFLAGS="$${RUSTFLAGS:--C target-cpu=native}" \
	cargo run --release --package weir-peers --

# Compiled for AVX2, since RustCrypto uses the instructions that the compiler may use.
PEERS_AESNI = RUSTFLAGS="-C target-cpu=x86-64-v3 -C target-feature=+aes,+pclmulqdq,+sha" \
	cargo run --release --package weir-peers \
	--target-dir "$${CARGO_TARGET_DIR:-target}/aesni" --

PREFIX = /usr/local
MAN = $(DESTDIR)$(PREFIX)/share/man/man1
BASH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
SCHEMAS = $(DESTDIR)$(PREFIX)/share/weir/schemas

# Installs $$program with its manual pages and completions.
INSTALL = \
	cargo build --release --locked --package "$$program" && \
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(MAN)" "$(BASH_COMPLETIONS)" "$(ZSH_COMPLETIONS)" \
		"$(FISH_COMPLETIONS)" && \
	install -s -m 755 "$${CARGO_TARGET_DIR:-target}/release/$$program" "$(DESTDIR)$(PREFIX)/bin/$$program" && \
	umask 022 && installed="$(DESTDIR)$(PREFIX)/bin/$$program" && \
	"$$installed" man "$(MAN)" && \
	"$$installed" completions bash >"$(BASH_COMPLETIONS)/$$program" && \
	"$$installed" completions zsh >"$(ZSH_COMPLETIONS)/_$$program" && \
	"$$installed" completions fish >"$(FISH_COMPLETIONS)/$$program.fish"

install:
	program=weir; $(INSTALL)
	install -d "$(SCHEMAS)"
	install -m 644 docs/schemas/*.schema.json "$(SCHEMAS)"

install-lab:
	program=weir-lab; $(INSTALL)

uninstall:
	for program in weir weir-lab; do \
		rm -f "$(DESTDIR)$(PREFIX)/bin/$$program" "$(BASH_COMPLETIONS)/$$program" \
			"$(ZSH_COMPLETIONS)/_$$program" "$(FISH_COMPLETIONS)/$$program.fish"; \
	done
	rm -f "$(MAN)"/weir.1 "$(MAN)"/weir-*.1 "$(SCHEMAS)"/*.schema.json
	rmdir "$(SCHEMAS)" "$(DESTDIR)$(PREFIX)/share/weir" 2>/dev/null || true

# The name of the archive says version and machine.
dist:
	command -v python3 >/dev/null || \
		{ echo "make dist: python3 is missing; it collects the licence texts" >&2; exit 2; }
	name="weir-$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)-$$(uname -m)-linux"; \
	rm -rf "out/$$name" && mkdir -p "out/$$name" && \
	$(MAKE) install DESTDIR="out/$$name" PREFIX= && \
	cp -R README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md \
		LICENSE-APACHE LICENSE-MIT docs examples "out/$$name" && \
	.ci/third-party-licences --texts >"out/$$name/THIRD-PARTY-LICENCES" && \
	tar -C out -czf "out/$$name.tar.gz" "$$name" && rm -rf "out/$$name" && \
	echo "out/$$name.tar.gz"

peers:
	mkdir -p out
	$(PEERS) out/peers.json

peers-aesni:
	mkdir -p out
	$(PEERS_AESNI) --tier aesni out/peers-aesni.json

# Rows of a limited run are printed where there are some.
peers-table:
	limited=out/peers-aesni.json; test -e "$$limited" || limited=; \
	$(PEERS) --table out/peers.json $$limited

bench:
	cargo bench
	cargo bench --package weir-lab

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

SOAK = \
	cargo build --release --locked --package weir && \
	cargo build --release --locked --package weir-netlab && \
	python3 peers/live/soak.py "$${CARGO_TARGET_DIR:-target}/release/weir" "$${CARGO_TARGET_DIR:-target}/release/weir-relay"

soak:
	$(SOAK) --seconds $(SECONDS)

kills:
	$(SOAK) --kills $(KILLS)

BENCH = cargo build --release --locked --package weir && \
	cargo build --release --locked --package weir-live-peers --bin weir-send && \
	bench() { script=$$1; shift; python3 peers/live/$$script "$${CARGO_TARGET_DIR:-target}/release/weir" \
		"$${CARGO_TARGET_DIR:-target}/release/weir-send" "$$@"; } && bench

endurance:
	$(BENCH) endurance.py --seconds $(SECONDS) $(OPTIONS)

reloads:
	$(BENCH) reloads.py --reloads $(RELOADS) $(OPTIONS)

scraping:
	$(BENCH) scraping.py $(OPTIONS)

tunnels:
	cargo build --release --locked --package weir
	cargo build --release --locked --package weir-netlab
	WEIR="$${CARGO_TARGET_DIR:-target}/release/weir" \
		WEIR_RELAY="$${CARGO_TARGET_DIR:-target}/release/weir-relay" \
		WEIR_REQUIRE_PEERS=1 python3 tests/interop/test_tunnel_applications.py --full
