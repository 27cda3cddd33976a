# The official image of PostgreSQL, with hybrid.
#
#	docker build -t hybrid .
#	docker build -t hybrid --build-arg BASE=postgres:17-trixie .
#
# A new database cluster has hybrid in POSTGRES_DB and in each database created later, so a client's CREATE EXTENSION
# vector works there at once.
ARG BASE=postgres:15-bookworm

FROM $BASE AS build
# Headers of a later minor version than the image's server could make a library that does not load there.
RUN apt-get update && \
	apt-get install -y --no-install-recommends gcc make libc6-dev "postgresql-server-dev-$PG_MAJOR=$PG_VERSION"
COPY . /hybrid
WORKDIR /hybrid
RUN make -j"$(nproc)" all && \
	make install install-vector DESTDIR=/installed

FROM $BASE
COPY --from=build /installed /
RUN echo "shared_preload_libraries = 'hybrid'" >>/usr/share/postgresql/postgresql.conf.sample
RUN printf '%s\n' 'CREATE EXTENSION hybrid;' '\connect template1' 'CREATE EXTENSION hybrid;' \
	>/docker-entrypoint-initdb.d/10-hybrid.sql
