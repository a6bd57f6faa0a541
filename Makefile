# make demo      two competing runs of a job on a throw-away Redis
# make test      format, lints, all tests, documentation
# make test-servers   all tests on the newest Valkey and on Redis 6.2 too
# make torture   leases under random faults: SECONDS=600 SEED=1
# make mutations the torture against the program without one piece of its design
# make fuzz      random input for everything that reads what others wrote: SECONDS=600 for each target
# make build     the program that people install: static, so that it starts faster and runs on any distribution
# make install   DESTDIR and PREFIX as usual
# make bench     what it costs, beside its peers: one report
# make deb       a Debian package, by cargo-deb
# make deny      licences and sources of the dependencies, by cargo-deny
#
# make build LINK=dynamic links the system's libc, for names from NSS modules other than files and dns.

CARGO ?= cargo
PREFIX ?= /usr/local
INSTALL ?= install
LINK ?= static
SECONDS ?= 600
SEED ?= 1

TRIPLE := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
# Packed relocations are fewer pages to read at each start; glibc unpacks them since 2.36.
PACKED := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ split($$2, v, "."); \
	if (v[1] > 2 || v[2] >= 36) print "-C link-arg=-Wl,-z,pack-relative-relocs" }')
# Static glibc falls back to a device for random bytes unless the system call is named.
STATIC := -C target-feature=+crt-static --cfg getrandom_backend="linux_getrandom" $(PACKED)

ifeq ($(LINK),static)
BINARY := target/$(TRIPLE)/release/redlease
# --target keeps the flags away from build scripts and macros, which cannot be static.
BUILD := RUSTFLAGS='$(STATIC)' $(CARGO) build --locked --release --target $(TRIPLE)
else
BINARY := target/release/redlease
BUILD := $(CARGO) build --locked --release
endif

BIN := $(DESTDIR)$(PREFIX)/bin
MAN := $(DESTDIR)$(PREFIX)/share/man
BASH := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

.PHONY: all build setup test test-servers torture mutations fuzz lint demo generate install uninstall deb deny bench clean

all: build

build:
	$(BUILD)

# Random faults for so many seconds, judged afterwards; a short one of a fixed seed is among the tests.
torture:
	TORTURE_SECONDS=$(SECONDS) TORTURE_SEED=$(SEED) $(CARGO) test --locked --test torture leases -- --nocapture

# The same, with one piece of the design after the other switched off: each has to be missed within SECONDS.
mutations:
	$(CARGO) test --locked --features mutate --bin redlease mutate
	TORTURE_SECONDS=$(SECONDS) TORTURE_SEED=$(SEED) $(CARGO) test --locked --features mutate --test torture mutations -- --nocapture

# Random input for all that reads what others wrote, SECONDS for each target.
fuzz:
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEED=$$(date +%s) $(CARGO) test --locked --bin redlease fuzz -- --nocapture --test-threads=2

# What is missing for it is installed first, and announced.
test: setup lint
	tests/run
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps --document-private-items

test-servers:
	tests/servers

setup:
	tests/setup

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings

demo:
	examples/demo.sh

# The first run rewrites what is not current and fails; the second one proves it.
generate:
	REDLEASE_BLESS=1 $(CARGO) test --locked --bin redlease generated || true
	$(CARGO) test --locked --bin redlease generated

# Built only when it is missing, so that `sudo make install` needs no Rust after `make build`.
$(BINARY):
	$(BUILD)

install: $(BINARY)
	$(INSTALL) -d '$(BIN)' '$(MAN)/man1' '$(MAN)/man7' '$(BASH)' '$(ZSH)' '$(FISH)'
	$(INSTALL) -m 755 $(BINARY) '$(BIN)/redlease'
	$(INSTALL) -m 644 man/*.1 '$(MAN)/man1'
	$(INSTALL) -m 644 man/*.7 '$(MAN)/man7'
	$(INSTALL) -m 644 completions/redlease.bash '$(BASH)/redlease'
	$(INSTALL) -m 644 completions/_redlease '$(ZSH)/_redlease'
	$(INSTALL) -m 644 completions/redlease.fish '$(FISH)/redlease.fish'

uninstall:
	rm -f '$(BIN)/redlease' '$(BASH)/redlease' '$(ZSH)/_redlease' '$(FISH)/redlease.fish'
	rm -f $(patsubst man/%.1,'$(MAN)/man1/%.1',$(wildcard man/*.1)) $(patsubst man/%.7,'$(MAN)/man7/%.7',$(wildcard man/*.7))

# The peers that are not installed are named in the report.
bench: build
	REDLEASE='$(BINARY)' $(CARGO) bench --locked --bench report

# cargo-deb takes the program that was built for the triple from there.
deb: build
	$(CARGO) deb --no-build $(if $(filter static,$(LINK)),--target $(TRIPLE))

deny:
	$(CARGO) fetch --locked
	$(CARGO) deny --offline check licenses bans sources

clean:
	$(CARGO) clean
