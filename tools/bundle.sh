#!/bin/sh
# A relocatable folder: the programs and tests, static where Debian has the archive, the other shared libraries beside
# them with an $ORIGIN rpath; never glibc. Runs on Debian 12, Ubuntu 24.04 and later without any package.
# Usage: sh tools/bundle.sh [OUTDIR]      (default: bundle)
#   OUTDIR/bin    convect and the test programs      OUTDIR/lib   shared libraries
#   OUTDIR/tests, OUTDIR/tools   data of the tests, the demo model
#   OUTDIR/licenses   of Convect's tables and data, and of each library
#   OUTDIR/run_tests.sh [unit|model|gpu ...]         runs the tests there
set -eu
case "${1:-}" in -*)
    echo "usage: sh tools/bundle.sh [OUTDIR]" >&2
    exit 2
    ;;
esac
out=${1:-bundle}
case $out in /*) ;; *) out=$PWD/$out ;; esac
cd "$(dirname "$0")/.."
# shellcheck source=tools/deps.sh
. tools/deps.sh
# shellcheck disable=SC2086
deps_install $deps_build $deps_test

mkdir -p build-bundle
# shellcheck disable=SC2046
cmake -S . -B build-bundle -G Ninja -C tools/cmake/bundle.cmake $(deps_cmake_options) >build-bundle/configure.log 2>&1 || {
    cat build-bundle/configure.log >&2
    exit 1
}
cmake --build build-bundle

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/tests" "$out/tools/demo"
cp build-bundle/convect "$out/bin/"
: >"$out/tests/list"
for label in unit model gpu; do
    for source in tests/"$label"/test_*.c; do
        test=$(basename "$source" .c)
        [ -x "build-bundle/$test" ] || continue
        cp "build-bundle/$test" "$out/bin/"
        echo "$label $test" >>"$out/tests/list"
    done
done
[ ! -d tests/data ] || cp -R tests/data "$out/tests/"
for file in tools/*.py tools/demo/*.gguf tools/demo/*.jsonl; do
    [ ! -f "$file" ] || cp "$file" "$out/$file"
done
cp LICENSE "$out/"
[ ! -d tools/licenses ] || cp -R tools/licenses "$out/"

# Everything outside glibc goes beside the programs. Listed before the first copy: afterwards ldd finds the copies.
for program in "$out"/bin/*; do ldd "$program"; done | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
    grep -vE '^(libc|libm|libdl|librt|libpthread|libresolv|libutil)\.so' >build-bundle/shared
while read -r name path; do
    cp -L "$path" "$out/lib/$name"
done <build-bundle/shared

# The licence of everything that went in: archives and headers inside the programs, shared libraries beside them.
add_licence() { # add_licence FILE: of the package that owns it; of CUDA's folder if it lies there
    real=$(readlink -f "$1")
    for path in "$1" "$real" "${1#/usr}" "${real#/usr}"; do # dpkg knows a file by the path in its package
        package=$(dpkg-query -S "$path" 2>/dev/null | head -1 | cut -d: -f1) || true
        [ -n "$package" ] || continue
        cp -L "/usr/share/doc/$package/copyright" "$out/licenses/$package.txt"
        return
    done
    case $real in */cuda*) ;; *)
        echo "bundle: no package owns $1, so its licence is not known" >&2
        return 1
        ;;
    esac
    text=$(find -L /usr/local/cuda -maxdepth 4 -type f \( -name 'EULA*' -o -path '*cuda_runtime*' -iname 'licen[cs]e*' \) | head -1)
    [ -n "$text" ] || {
        echo "bundle: $1 is in the programs, but CUDA's folder has no licence text" >&2
        return 1
    }
    cp -L "$text" "$out/licenses/NVIDIA-CUDA.txt"
}
mkdir -p "$out/licenses"
{
    grep -ohE '(^|[ =])/[^ $]*\.(a|so)[.0-9]*( |$)' build-bundle/build.ninja | tr -d ' ='
    cut -d ' ' -f 2 build-bundle/shared
    echo /usr/include/xxhash.h # compiled in
} | sort -u | grep -vE '/lib(c|m|dl|rt|pthread|resolv|util)\.(a|so)' | while read -r file; do
    add_licence "$file"
done

cat >"$out/run_tests.sh" <<'END'
#!/bin/sh
# Usage: sh run_tests.sh [unit|model|gpu ...]   (default: all)
cd "$(dirname "$0")" || exit 1
ln -sfn "$PWD" /tmp/convect-bundle # the root that tools/cmake/bundle.cmake gave to the test programs
[ $# -gt 0 ] || set -- unit model gpu
n_passed=0 n_failed=0 n_skipped=0
for label; do
    while read -r kind test; do
        [ "$kind" = "$label" ] || continue
        "bin/$test" >run_tests.log 2>&1
        rc=$?
        case $rc in
        0) n_passed=$((n_passed + 1)) word=passed ;;
        77) n_skipped=$((n_skipped + 1)) word=skipped ;;
        *) n_failed=$((n_failed + 1)) word="FAILED ($rc)" ;;
        esac
        echo "$kind $test: $word"
        [ $rc = 0 ] || [ $rc = 77 ] || tail -40 run_tests.log
    done <tests/list
done
echo "$n_passed passed, $n_failed failed, $n_skipped skipped"
[ $n_failed = 0 ]
END
echo "bundle: $out ($(du -sh "$out" | cut -f1))"
