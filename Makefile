# hybrid: vectors and graphs in ordinary tables.
#
#	make demo		from nothing to a look at it (installs what is missing from Debian's packages)
#	make check		every test, from a clean clone; `make check-unit` and so on for one step of it
#	make check PG=17	a part of the tests with another version of PostgreSQL, in a chroot, and pg_upgrade to it
#					(test/versions.sh)
#	make soak		the long versions of the fuzzing, storm, crash and load steps, and of some TAP tests;
#					TAP and isolation tests on the emulated device
#	make bench		measurements; `make bench-compare BASE=file` against a kept result
#	make; make install; make installcheck		with PGXS, as any extension
#	make install-vector		the extension "vector", with pgvector's names for indexes of hybrid
#	make deb		packages of Debian, in build/deb (debian/build.sh)
#	make dist		the archive for PGXN, in build/dist
#
# This file parses without PostgreSQL's development files, so that demo, check, soak and bench can
# install them first.

EXTENSION = hybrid
MODULE_big = hybrid
DATA = hybrid--1.0.sql
PGFILEDESC = "hybrid - vectors and graphs with a dispatcher between CPU and GPU"

PURE_DIRS = src/core src/dispatch $(addprefix src/dispatch/,model share route run tools)
SERVER_DIRS = src/server src/types src/knn src/index $(addprefix src/index/,page tree scan write build vacuum check) src/graph src/telemetry
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard $(addsuffix /*.c,$(PURE_DIRS) $(SERVER_DIRS)))))

# Those that end in _emulated, device_errors and telemetry_complete need the emulated device, and those that begin with
# compat_ need the extension "vector". Only `make check` installs both.
REGRESS = $(filter-out %_emulated device_errors telemetry_complete compat_%,$(sort $(patsubst sql/%.sql,%,$(wildcard sql/*.sql))))
REGRESS_OPTS = --load-extension=hybrid --inputdir=.

# The same bits from every kernel: no contraction of a * b + c, no other liberty.
HYBRID_CFLAGS = -ffp-contract=off -fno-math-errno
# PGXS tracks no headers unless PostgreSQL was configured to, and Debian's was not.
PG_CPPFLAGS = -I$(srcdir)/src $(if $(filter yes,$(autodepend)),,-MMD -MP)
PG_CFLAGS = $(HYBRID_CFLAGS)
SHLIB_LINK = -lm -ldl -lpthread -Wl,-Bsymbolic -Wl,--version-script=build/exports.map
EXTRA_CLEAN = build *.so $(patsubst %.o,%.d,$(OBJS)) compat/*.o compat/*.d

srcdir = .
OWN_GOALS = demo check check-% soak soak-% bench bench-compare deb dist
PGXS_GOALS := $(filter-out $(OWN_GOALS),$(or $(MAKECMDGOALS),all))

all: hybrid_emulated.so hybrid_vector.so

# pgxs.mk has a `check` that only fails. PGXS is left out where nothing but our own goals is asked
# for, and our `check` where it is not asked for, so that neither replaces the other with a warning.
ifneq ($(PGXS_GOALS),)
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifneq ($(wildcard $(PGXS)),)
# LLVM bitcode would be built with clang's idea of every kernel; nothing here gains from inlining.
override with_llvm = no
include $(PGXS)
# At once, not when some of it has been built, or a missing compiler has been met.
else ifneq ($(filter all install install-vector installdirs installcheck uninstall uninstall-vector clean distclean,$(PGXS_GOALS)),)
$(info PostgreSQL's development files are missing (Debian 12: apt-get install postgresql-server-dev-15).)
$(info 'make demo' and 'make check' install what they need.)
$(error $(PG_CONFIG) names no PGXS)
endif
endif

# Loops over all elements of all rows, which are made vector instructions of; the bits are the same.
src/core/csr_apply.o src/core/prefilter_rows.o src/core/tail.o src/index/scan/frontier.o src/index/scan/frontier_slots.o src/index/page/frame.o src/index/page/storage.o src/index/build/build_sample.o: CFLAGS += -O3
# and these have comparisons besides, which a trap could be set on
src/core/tail.o src/index/scan/frontier.o src/index/scan/frontier_slots.o: CFLAGS += -fno-trapping-math

-include $(patsubst %.o,%.d,$(OBJS))

# Objects are built again when the compiler or its flags change: a check with -Werror must see
# the warnings of a file that an earlier build has compiled without.
$(OBJS): build/flags
build/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(CC) $(CFLAGS) $(CPPFLAGS))' | cmp -s - $@ || \
		echo '$(subst ','\'',$(CC) $(CFLAGS) $(CPPFLAGS))' >$@

# What PostgreSQL must find in hybrid.so and nothing else: the functions that SQL names.
hybrid.so: build/exports.map
build/exports.map: $(wildcard $(addsuffix /*.[ch],$(SERVER_DIRS)))
	@mkdir -p $(@D)
	@{ echo '{ global: Pg_magic_func; _PG_init;'; \
	  sed -nE 's/^PG_FUNCTION_INFO_V1\((\w+)\);.*/\1; pg_finfo_\1;/p; s/^PGDLLEXPORT .*[ *](hybrid\w+)\(.*/\1;/p' $(sort $^); \
	  echo 'local: *; };'; } >$@

# The extension "vector": another extension with a library of its own. Its control file has the same name as
# that of pgvector, which an installation must not replace.
hybrid_vector.so: compat/vector.o
	$(CC) $(CFLAGS) -shared -o $@ $< $(LDFLAGS) $(LDFLAGS_SL)

compat/vector.o: build/flags
-include compat/vector.d

vector_data = $(DESTDIR)$(datadir)/extension

install-vector: hybrid_vector.so
	@if [ -e '$(DESTDIR)$(pkglibdir)/vector.so' ]; then \
		echo 'pgvector is installed in $(DESTDIR)$(pkglibdir). Remove it first: its extension is named vector, too.' >&2; \
		exit 1; \
	fi
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)' '$(vector_data)'
	$(INSTALL_SHLIB) hybrid_vector.so '$(DESTDIR)$(pkglibdir)/'
	$(INSTALL_DATA) compat/vector.control $(wildcard compat/vector--*.sql) '$(vector_data)/'

# Files of pgvector that have the same names stay.
uninstall-vector:
	rm -f '$(DESTDIR)$(pkglibdir)/hybrid_vector.so'
	@if grep -qs hybrid_vector '$(vector_data)/vector.control'; then \
		cd '$(vector_data)' && rm -f $(notdir $(wildcard compat/vector--*.sql) compat/vector.control); \
	fi

# The pure folders without PostgreSQL's flags, compiled once for the plug-ins, their tests and the unit tests.
pure = $(patsubst %.c,build/pure/%.o,$(1))
PURE_OBJS = $(call pure,$(sort $(wildcard $(addsuffix /*.c,$(PURE_DIRS) src/emulated))))
PURE_CFLAGS = -std=c11 -O2 -g -fPIC -Wall -Wextra -fvisibility=hidden $(HYBRID_CFLAGS) -Isrc $(COPT)

build/pure/%.o: %.c build/flags
	@mkdir -p $(@D)
	$(CC) $(PURE_CFLAGS) -MMD -MP -c -o $@ $<

# A library, so that a program needs only what it uses.
build/pure/pure.a: $(PURE_OBJS)
	rm -f $@
	ar rcs $@ $^

-include $(PURE_OBJS:.o=.d)

# The emulated device: a plug-in for tests and demonstrations.
EMULATED_OBJS = $(call pure,$(wildcard src/core/*.c src/emulated/*.c) src/dispatch/backend.c)

hybrid_emulated.so: $(EMULATED_OBJS)
	$(CC) -shared -Wl,-Bsymbolic -o $@ $^ -lm

# The CUDA plug-in, where nvcc is found.
-include cuda/cuda.mk

demo:
	@test/packages.sh demo
	@bench/demo.sh

bench:
	@test/packages.sh bench
	@bench/run.sh

bench-compare:
	@bench/compare.sh "$(BASE)" "$(NEW)"

ifneq ($(if $(PGXS_GOALS),$(filter check,$(MAKECMDGOALS)),ours),)
check:
ifeq ($(PG),)
	@test/packages.sh check
	@test/check.sh
else
	@test/versions.sh $(PG)
endif
endif

check-%:
	@test/packages.sh check
	@test/check.sh $*

soak:
	@test/packages.sh check
	@test/check.sh --soak

soak-%:
	@test/packages.sh check
	@test/check.sh --soak $*

deb:
	@debian/build.sh

# What is committed, under the name that PGXN wants; git knows all of it.
dist_version = $(shell sed -n '/"version"/{s/.*: "\(.*\)".*/\1/p;q}' META.json)
dist: name = hybrid-$(dist_version)
dist:
	@git -c safe.directory='$(CURDIR)' diff --quiet HEAD || echo 'What is not committed is not in the archive.'
	@mkdir -p build/dist
	git -c safe.directory='$(CURDIR)' archive --format=zip --prefix=$(name)/ -o build/dist/$(name).zip HEAD

# What one job cleans, another would be building.
ifneq ($(filter clean distclean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

FORCE:
.PHONY: all install-vector uninstall-vector demo check soak bench bench-compare deb dist FORCE
