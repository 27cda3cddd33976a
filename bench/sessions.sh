#!/bin/bash
# Eight sessions with batches at once, and small searches beside them.
#
#	bench/sessions.sh [--quick] [ROUNDS]
#
# Each session asks hybrid_knn for the cosine top 10 of 1,000 queries over WordNet (116,649 x 768): all sessions at
# once, and one after the other. A ratio of 1 says that they take the same time. One more session searches an index
# (LIMIT 10) meanwhile, and then beside eight busy sessions of pgbench -S, which do not use hybrid; the ratio is of the
# 99th percentiles, below 1 if searches beside batches are faster. hybrid uses as many threads as there are
# processors. CSV: see side_by_side.sh.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/side_by_side.sh
. bench/side_by_side.sh
mkdir -p build/bench
"${CC:-gcc}" -std=c11 -O2 -g -Wall -Wextra -Werror -o build/bench/client bench/client.c -lpq -pthread
side_by_side sessions --all-cores "$@"
