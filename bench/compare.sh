#!/bin/bash
# Compares two results of `make bench`. Fails if a figure of hybrid is 10% worse or missing.
#
#	bench/compare.sh BASE [NEW]		NEW: the latest under bench/results/local
#
# The figures of pgvector and the limits of the machine are shown, but do not affect the result.
set -euo pipefail

cd "$(dirname "$0")/.."
base=${1:?usage: make bench-compare BASE=file [NEW=file]}
new=${2:-}
if [ -z "$new" ]; then
	new=$(find bench/results/local -name '*.csv' 2>/dev/null | sort | tail -n 1)
fi
for file in "$base" "$new"; do
	[ -r "$file" ] || { echo "bench/compare.sh: cannot read '$file'" >&2; exit 2; }
done
echo "base $base"
echo "new  $new"
awk -F, '
	FNR == 1 { if ($0 != "date,machine,commit,postgres,pgvector,case,metric,value,better") { print FILENAME ": not a result of make bench"; broken = 1; exit } next }
	NR == FNR { base[$6 "," $7] = $8; machine = $2; next }
	machine != "" && $2 != machine && !told { print "note: measured on another machine (" machine " then, " $2 " now)"; told = 1 }
	{
		key = $6 "," $7
		if (!(key in base)) { printf "  %-44s %-16s %12s %12s\n", $6, $7, "-", $8; next }
		change = base[key] == 0 ? 0 : ($8 / base[key] - 1) * 100
		bad = $6 !~ /^(pgvector|kernels limit)/ && ($9 == "higher" ? $8 < base[key] * 0.9 : $8 > base[key] * 1.1)
		printf "%s %-44s %-16s %12s %12s %+7.1f%%\n", bad ? "!" : " ", $6, $7, base[key], $8, change
		failed += bad
		delete base[key]
	}
	END {
		if (broken) exit 2
		for (key in base) if (key !~ /^(pgvector|kernels limit)/) { print "! " key ": gone"; failed++ }
		print failed + 0 " figures 10% worse or gone"
		exit failed > 0
	}' "$base" "$new"
