#!/bin/bash
# Reading vectors of 768 dimensions from text and from binary, beside pgvector.
#
#	bench/input.sh [--quick] [--busy] [ROUNDS]
#
# By COPY into a table, by COPY that keeps no row, and by casts; see side_by_side.sh and input.py.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/side_by_side.sh
. bench/side_by_side.sh
side_by_side input "$@"
