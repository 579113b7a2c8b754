#!/bin/sh
# test_commit.sh ROOT: what tools/cmake/commit.cmake records in and outside of git checkouts.
set -u
script=$1/tools/cmake/commit.cmake
if ! command -v git >/dev/null || ! command -v cmake >/dev/null; then
    echo "skipped: no git or cmake"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
n_failed=0

# records FOLDER COMMIT MARK
records() {
    cmake -D SOURCE="$1" -D OUTPUT="$work/out.c" -P "$script" >/dev/null || n_failed=$((n_failed + 1))
    if ! grep -qF "build_commit[] = \"$2\";" "$work/out.c" || ! grep -qF "build_dirty_mark[] = \"$3\";" "$work/out.c"; then
        echo "FAIL: $1 should record '$2' '$3':"
        cat "$work/out.c"
        n_failed=$((n_failed + 1))
    fi
}

mkdir -p "$work/repo/unpacked" "$work/plain"
(cd "$work/repo" && git init -q && echo a >a && git add a && git commit -qm a) || exit 1
head=$(git -C "$work/repo" rev-parse --short=12 HEAD)

records "$work/plain" unknown ''
records "$work/repo" "$head" ''
echo new >"$work/repo/untracked"
records "$work/repo" "$head" ''
records "$work/repo/unpacked" unknown '' # a tarball inside some other repository
echo b >"$work/repo/a"
records "$work/repo" "$head" -dirty

touch -d '2001-01-01' "$work/out.c" # nothing new: not written again, so nothing is compiled again
records "$work/repo" "$head" -dirty
[ "$(date -r "$work/out.c" +%Y)" = 2001 ] || {
    echo "FAIL: an unchanged record was written again"
    n_failed=$((n_failed + 1))
}
[ "$n_failed" -eq 0 ] && echo "commit record: all passed"
