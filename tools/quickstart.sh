#!/bin/sh
# From a fresh clone on Debian 12 to text: installs what is missing (apt), builds, and asks the demo model three
# questions. Usage: sh tools/quickstart.sh
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/deps.sh
. tools/deps.sh

# shellcheck disable=SC2086
deps_install $deps_build
echo "configuring (log: build/quickstart.log)" >&2
mkdir -p build
# shellcheck disable=SC2046 # no -Werror: a newer compiler's new warnings must not stop a user
cmake -S . -B build -G Ninja -C tools/cmake/release.cmake -DCONVECT_WERROR=OFF $(deps_cmake_options) >build/quickstart.log 2>&1 || {
    cat build/quickstart.log >&2
    exit 1
}
cmake --build build --target convect

# JSON string body -> text: the committed questions use no other escapes than these
unescape() {
    printf '%b' "$(printf '%s' "$1" | sed 's/\\"/"/g')"
}

model=tools/demo/convect-demo.gguf
n_wrong=0
while IFS= read -r line; do
    question=$(unescape "$(printf '%s' "$line" | sed 's/^{"prompt": *"\(.*\)", *"answer": *".*"}$/\1/')")
    expected=$(unescape "$(printf '%s' "$line" | sed 's/^{"prompt": *".*", *"answer": *"\(.*\)"}$/\1/')")
    printf '\nQuestion: %s\n' "$question"
    answer=$(build/convect run "$model" --greedy --quiet -n 128 "$question" </dev/null)
    printf 'Answer:   %s\n' "$answer"
    if [ "$answer" != "$expected" ]; then
        printf 'Expected: %s\n' "$expected"
        n_wrong=$((n_wrong + 1))
    fi
done <tools/demo/questions.jsonl
if [ $n_wrong != 0 ]; then
    echo "$n_wrong answers are not the expected ones: something is wrong with this build or machine." >&2
    exit 1
fi
printf '\nIt works. Next: build/convect run YOUR-MODEL.gguf "your question"   (README.md)\n'
