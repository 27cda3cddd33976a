# hybrid: vectors and graphs in ordinary tables.
#
#	make demo		from nothing to a look at it (installs what is missing from Debian's packages)
#	make check		every test, from a clean clone
#	make; make install	build and install with PGXS, as any extension
#
# This file parses without PostgreSQL's development files, so that `make demo` and `make check`
# can install them first.

EXTENSION = hybrid
MODULE_big = hybrid
DATA = hybrid--1.0.sql
PGFILEDESC = "hybrid - vectors and graphs with a dispatcher between CPU and GPU"

PURE_DIRS = src/core src/dispatch
SERVER_DIRS = src/server src/types src/knn src/index src/graph src/telemetry
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard $(addsuffix /*.c,$(PURE_DIRS) $(SERVER_DIRS)))))

REGRESS = $(sort $(patsubst sql/%.sql,%,$(wildcard sql/*.sql)))
REGRESS_OPTS = --load-extension=hybrid --inputdir=.

# The same bits from every kernel: no contraction of a * b + c, no other liberty.
HYBRID_CFLAGS = -ffp-contract=off -fno-math-errno
PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = $(HYBRID_CFLAGS)
SHLIB_LINK = -lm -ldl -Wl,-Bsymbolic -Wl,--version-script=build/exports.map

srcdir = .
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
HAVE_PGXS := $(wildcard $(PGXS))

all: hybrid_emulated.so

ifneq ($(HAVE_PGXS),)
# LLVM bitcode would be built with clang's idea of every kernel; nothing here gains from inlining.
override with_llvm = no
include $(PGXS)
else
all:
	@echo "PostgreSQL's development files are missing (Debian: apt-get install postgresql-server-dev-15)."
	@echo "'make demo' and 'make check' install what they need."
	@exit 1
endif

# What PostgreSQL must find in hybrid.so and nothing else: the functions that SQL names.
hybrid.so: build/exports.map
build/exports.map: $(wildcard $(addsuffix /*.c,$(SERVER_DIRS)))
	@mkdir -p $(@D)
	@{ echo '{ global: Pg_magic_func; _PG_init;'; \
	  sed -nE 's/^PG_FUNCTION_INFO_V1\((\w+)\);.*/\1; pg_finfo_\1;/p; s/^PGDLLEXPORT .*[ *](hybrid\w+)\(.*/\1;/p' $(sort $^); \
	  echo 'local: *; };'; } >$@

# The emulated device: a plug-in for tests and demonstrations, pure C.
EMULATED_OBJS = $(patsubst %.c,build/emulated/%.o,$(wildcard src/core/*.c src/emulated/*.c) src/dispatch/backend.c)
PURE_CFLAGS = -std=c11 -O2 -g -fPIC -Wall -Wextra -fvisibility=hidden $(HYBRID_CFLAGS) -Isrc

build/emulated/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(PURE_CFLAGS) -MMD -c -o $@ $<

hybrid_emulated.so: $(EMULATED_OBJS)
	$(CC) -shared -Wl,-Bsymbolic -o $@ $^ -lm

-include $(wildcard build/emulated/src/*/*.d)
