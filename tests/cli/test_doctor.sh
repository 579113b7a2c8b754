#!/bin/sh
# test_doctor.sh ROOT CONVECT: convect doctor finds something about every part, and its report names nobody and no place.
set -u
convect=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0

fail() {
    echo "FAIL: $*"
    n_failed=$((n_failed + 1))
}

run() {
    "$convect" doctor "$@" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
}

run "$work"
[ $rc -eq 0 ] || fail "exit $rc: $(cat "$work/err")"
for part in Convect CPU ISA RAM GPU Disk io_uring memlock 'Huge pages' Allocator; do
    grep -q "^$part " "$work/out" || fail "nothing about $part: $(cat "$work/out")"
done

# a folder, a home and a user whose names would be seen
mkdir "$work/secret-name"
(cd "$work/secret-name" && HOME=$work/secret-name USER=secret-name LOGNAME=secret-name "$convect" doctor --report "$work/report" >"$work/out") ||
    fail "a report: $(cat "$work/out")"
for word in secret-name "$(uname -n)" "$work"; do
    if grep -qF -- "$word" "$work/report" "$work/out"; then fail "the report names $word: $(cat "$work/report")"; fi
done
python3 -c 'import json, sys
found = {f["name"]: f for f in json.load(open(sys.argv[1]))["findings"]}
assert found["CPU"]["figures"]["cores"] >= 1 and found["RAM"]["figures"]["total_bytes"] > 1 << 20
assert "ref" in found["ISA"]["figures"]["levels"] and found["GPU"]["state"] in ("ok", "note", "problem")
for f in found.values(): assert f["state"] == "ok" or f["hint"], f' "$work/report" || fail "the report: $(cat "$work/report")"
run --json "$work"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/out" || fail "JSON: $(cat "$work/out")"

# a path that is not there is a finding, a report that cannot be written an error
run "$work/none"
[ $rc -eq 0 ] || fail "a missing path: exit $rc"
grep -A 1 '^Disk *problem' "$work/out" | grep -q 'convect doctor PATH' || fail "a missing path: $(cat "$work/out")"
run --report "$work/none/report"
[ $rc -eq 8 ] || fail "a report into no folder: exit $rc"

[ $n_failed -eq 0 ]
