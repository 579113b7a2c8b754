#!/bin/sh
# The tests. Usage: sh tools/check.sh [--all | --part NAME]
#   (none)  release build, unit and model tests, CUDA for one architecture if nvcc is there; <= 8 minutes on 2 cores
#   --all   every part below; <= 45 minutes on 2 cores
# Each part runs in a shell of its own, a failing one fails the whole, and the time of each is printed at the end.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/deps.sh
. tools/deps.sh
[ ! -d /usr/local/cuda/bin ] || PATH="/usr/local/cuda/bin:$PATH"
out=build-check
demo=tools/demo/convect-demo.gguf
n_jobs=$(nproc)

build() { # build NAME CONFIGURATION [OPTION...]: into $out/NAME
    name=$1 config=$2
    shift 2
    # shellcheck disable=SC2046
    cmake -S . -B "$out/$name" -G Ninja -C "tools/cmake/$config.cmake" $(deps_cmake_options) "$@" >"$out/$name.log" 2>&1 || {
        cat "$out/$name.log"
        return 1
    }
    grep -E '^-- (CUDA|library|tests)' "$out/$name.log" || true
    cmake --build "$out/$name"
}

run_tests() { # run_tests NAME [ctest option...]
    name=$1
    shift
    ctest --test-dir "$out/$name" -j "$n_jobs" --no-tests=error --output-on-failure "$@"
}

part_deps() {
    # shellcheck disable=SC2086
    deps_install $deps_build $deps_test ${1:+$deps_all}
    if command -v nvcc >/dev/null; then deps_install g++; fi
}
part_release() { # one CUDA architecture; with --all every one, and the ten slowest units
    build release release "-DCONVECT_CUDA_ARCHITECTURES=${1:-90a}"
    [ -n "${1:-}" ] && command -v nvcc >/dev/null || return 0
    echo "slowest .cu (seconds, all architectures):"
    awk -F '\t' '$4 ~ /\.cu\.o$/ { t[$4] = ($2 - $1) / 1000 } END { for (f in t) printf "%8.1f  %s\n", t[f], f }' \
        "$out/release/.ninja_log" | sort -rn | head -10
}
part_test() {
    if [ -n "${1:-}" ]; then run_tests release; else run_tests release -LE slow; fi
}
part_lint() { sh tools/lint.sh; }

part_debug() { # the expensive checks
    build debug debug -DCONVECT_CUDA=OFF
    run_tests debug -LE slow
}

part_asan() {
    build asan asan
    ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 run_tests asan -LE slow
}

part_tsan() { # without test_like: six minutes here, and no thread that the other model tests lack
    build tsan tsan
    TSAN_OPTIONS=halt_on_error=1 setarch -R ctest --test-dir "$out/tsan" -j "$n_jobs" --no-tests=error --output-on-failure -LE slow -E '^test_like$'
}

fuzz_one() { # fuzz_one TARGET: 60 s from the committed seeds
    name=${1##*/fuzz_}
    seeds=tests/fuzz/corpus/$name
    [ -d "$seeds" ] || seeds=
    mkdir -p "$out/corpus/$name"
    "$1" -max_total_time=60 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 -artifact_prefix="$out/crash-$name-" \
        "$out/corpus/$name" ${seeds:+"$seeds"} >"$out/fuzz_$name.log" 2>&1 || {
        tail -60 "$out/fuzz_$name.log"
        echo "fuzz_$name FAILED; the input is $out/crash-$name-*"
        return 1
    }
    echo "fuzz_$name: $(grep -E 'number_of_executed_units|new_units_added' "$out/fuzz_$name.log" | tr -s ' ' | tr '\n' ' ')"
}

part_fuzz() { # two at a time
    build fuzz fuzz
    find "$out/fuzz" -maxdepth 1 -type f -name 'fuzz_*' | sort >"$out/fuzz_targets"
    [ -s "$out/fuzz_targets" ]
    xargs -P "$n_jobs" -n 1 sh tools/check.sh --fuzz-one <"$out/fuzz_targets"
}

part_soak() { # random prompts for two minutes under ASan and LSan
    i=0 end=$(($(date +%s) + 120))
    while [ "$(date +%s)" -lt $end ]; do
        i=$((i + 1))
        prompt=$(head -c $((i % 97 + 1)) /dev/urandom | od -An -tx1 | tr -d ' \n')
        "$out/asan/convect" run "$demo" --quiet --temp 1.0 --seed $i -n 24 "$prompt" </dev/null >"$out/soak.out" 2>"$out/soak.err" || {
            cat "$out/soak.err"
            echo "soak run $i failed; prompt: $prompt"
            return 1
        }
    done
    echo "soak: $i runs, no error, no leak"
    short=$(peak_rss_kib 64) long=$(peak_rss_kib 3000)
    echo "soak: peak RSS $short KiB for 64 tokens, $long KiB for 3000"
    [ $((long - short)) -lt 8192 ] # 8 MiB in 3000 tokens would be 2.8 KiB a token
}

peak_rss_kib() { # peak_rss_kib N: of an answer of N tokens; the room for tokens is the same for every N
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
        "$out/release/convect" run "$demo" --quiet --ignore-eos --temp 1.0 --ctx 4096 -n "$1" "Tell me a story."
}

part_install() { # an installed copy runs from anywhere
    rm -rf "$out/prefix"
    cmake --install "$out/release" --prefix "$out/prefix" >"$out/install.log"
    (cd / && "$OLDPWD/$out/prefix/bin/convect" version)
    [ -f "$out/prefix/share/convect/convect-demo.gguf" ]
    "$out/prefix/bin/convect" run "$out/prefix/share/convect/convect-demo.gguf" --greedy -n 16 "Hello" </dev/null
}

part_bundle() {
    rm -rf "$out/bundle"
    sh tools/bundle.sh "$out/bundle"
    env -i "$out/bundle/bin/convect" version
    (cd / && env -i PATH=/usr/bin:/bin sh "$OLDPWD/$out/bundle/run_tests.sh" unit)
}

if [ "${1:-}" = --part ]; then
    "part_$2" "${3:-}"
    exit
elif [ "${1:-}" = --fuzz-one ]; then
    fuzz_one "$2"
    exit
fi
case "${1:-}" in
'') all='' parts='deps release test' ;;
--all) all=all parts='deps lint release test debug asan tsan fuzz soak install bundle' ;;
*)
    echo "usage: sh tools/check.sh [--all | --part NAME]" >&2
    exit 2
    ;;
esac

mkdir -p $out
n_passed=0 n_failed=0 table=''
start_all=$(date +%s)
for part in $parts; do
    echo "== $part"
    start=$(date +%s)
    if sh tools/check.sh --part "$part" $all; then
        n_passed=$((n_passed + 1)) result=passed
    else
        n_failed=$((n_failed + 1)) result=FAILED
    fi
    table="$table$(printf '%-10s %5d s  %s' "$part" $(($(date +%s) - start)) $result)
"
done
printf '\n%s%-10s %5d s\n' "$table" total $(($(date +%s) - start_all))
echo "$n_passed passed, $n_failed failed"
[ $n_failed = 0 ]
