#!/bin/sh
# Style and static checks of the C and CUDA sources: clang-format, cppcheck, clang-tidy (.clang-format, .clang-tidy).
# Usage: sh tools/lint.sh [FILE.c ...]   default: every source file git knows. Changes nothing; prints what it finds.
set -eu
cd "$(dirname "$0")/.."
out=build-check/lint
n_failed=0

missing=''
for tool in clang-format clang-tidy cppcheck; do
    command -v "$tool" >/dev/null || missing="$missing $tool"
done
[ -z "$missing" ] || {
    echo "lint: not installed:$missing" >&2
    exit 1
}

sources() { # the files given, or all, of the kinds given; the imported tables are data
    if [ $# -gt 0 ] && [ -n "$given" ]; then
        echo "$given"
    else
        git ls-files --cached --others --exclude-standard -- "$@"
    fi | grep -v '^kernels/codebooks' | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}
given=''
for file; do given="$given${given:+
}$file"; done

mkdir -p "$out"
cmake -S . -B "$out/build" -G Ninja -C tools/cmake/release.cmake -DCONVECT_CUDA=OFF >"$out/cmake.log" 2>&1 || {
    cat "$out/cmake.log"
    exit 1
}
cmake --build "$out/build" --target build_commit >/dev/null # a source that the build writes

echo "clang-format"
sources '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror 2>"$out/format.log" || n_failed=$((n_failed + 1))
grep 'error:' "$out/format.log" || true

echo "cppcheck"
if [ -z "$given" ]; then # checks what the compiler sees
    cppcheck -j "$(nproc)" --project="$out/build/compile_commands.json" --enable=warning,performance,portability \
        --inline-suppr --suppress=missingIncludeSystem --quiet --error-exitcode=1 -i kernels/codebooks.c || n_failed=$((n_failed + 1))
fi

echo "clang-tidy"
# gpu/ host code with CUDA headers is not in this configuration and so not seen here
sources '*.c' | while read -r file; do
    ! grep -qF "/$file\"" "$out/build/compile_commands.json" || echo "$file"
done | xargs -P "$(nproc)" -n 2 clang-tidy -p "$out/build" --quiet >"$out/tidy.log" 2>/dev/null || n_failed=$((n_failed + 1))
grep -E '(error|warning):' "$out/tidy.log" | sort -u || true

if [ "$n_failed" -gt 0 ]; then
    echo "lint: $n_failed of 3 tools found something" >&2
    exit 1
fi
echo "lint: clean"
