#!/bin/bash
# ORDER BY v <=> q LIMIT 10 by sequential scan, and distances of each type, beside pgvector.
#
#	bench/scan.sh [--quick] [--busy] [ROUNDS]
#
# 116,649 x 768 (WordNet), STORAGE plain, in shared buffers; see side_by_side.sh and scan.py.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/side_by_side.sh
. bench/side_by_side.sh
side_by_side scan "$@"
