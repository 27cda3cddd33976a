#!/bin/bash
# The exact nearest rows of many queries at once, beside FAISS IndexFlatIP and pgvector's exact scan.
#
#	bench/knn.sh [--quick] [--busy] [--all-cores] [--graph] [ROUNDS]
#
# Cosine top 10 of 1,000 queries over 116,649 x 768 (WordNet): hybrid_knn over a plain table and over
# one with a hybrid index, at each instruction set that this machine has; see side_by_side.sh and knn.py.
# Each contender uses one thread, or with --all-cores as many as the machine has processors. pgvector has
# no batches, so its queries use one thread each.
#
# --graph: instead, the ten nearest rows of each row by hybrid_knn_graph with a recall of .95, beside the build of its
# index, index scans by LATERAL, and hnswlib; see knn_graph.py.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/side_by_side.sh
. bench/side_by_side.sh
side_by_side knn "$@"
