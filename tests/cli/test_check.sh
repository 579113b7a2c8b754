#!/bin/sh
# test_check.sh ROOT CONVECT: convect check from outside, and a file that shrinks while it is in use. On the demo model;
# skipped (77) without it.
set -u
root=$1
convect=$2
model=$root/tools/demo/convect-demo.gguf
if [ ! -f "$model" ]; then
    echo "skipped: no $model"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0

fail() {
    echo "FAIL: $*"
    n_failed=$((n_failed + 1))
}

# expect CODE TEXT ARGUMENTS...: this exit code, and the text on stdout or stderr
expect() {
    code=$1 text=$2
    shift 2
    "$convect" check "$@" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
    [ $rc -eq "$code" ] || fail "$*: exit $rc, not $code: $(cat "$work/err")"
    cat "$work/out" "$work/err" | grep -qF -- "$text" || fail "$*: no '$text' in: $(cat "$work/out" "$work/err")"
}

# patch OFFSET HEX: two bytes of $work/m.gguf, a fresh copy of the model
patch() {
    cp "$model" "$work/m.gguf"
    python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); f.write(bytes.fromhex(sys.argv[3]))' \
        "$work/m.gguf" "$1" "$2"
}

# tensor FIELD: of the first quantised tensor of more than 40 kB whose blocks begin with their scale
"$convect" inspect "$model" --json >"$work/list"
python3 -c 'import json, sys
t = next(t for t in json.load(open(sys.argv[1]))["tensors"] if t["bytes"] > 40000 and t["type"] in ("Q8_0", "Q4_K", "Q4_0", "Q5_K"))
print(t["name"], t["type"], t["offset"], t["bytes"], {"Q8_0": 34, "Q4_K": 144, "Q4_0": 18, "Q5_K": 176}[t["type"]])' \
    "$work/list" >"$work/tensor" || fail "no tensor to damage"
read -r name type off bytes block <"$work/tensor"

# a sound file
expect 0 'weights    ok' "$model"
for line in 'structure  ok  1 file' 'family     ok  qwen35moe' 'tokenizer  ok' '--full reads everything'; do
    grep -qF -- "$line" "$work/out" || fail "no line '$line'"
done
[ ! -s "$work/err" ] || fail "a sound file: $(cat "$work/err")"
expect 0 'in all' "$model" --full
expect 0 'structure' "$model" --sha256
sum=$(sha256sum <"$model" | cut -d ' ' -f 1)
grep -qF "$sum  $model" "$work/out" || fail "the sum is not $sum: $(cat "$work/out")"
expect 0 '"ok":true' "$model" --json --full
python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); assert o["is_full"] and o["weight_bytes_read"] > 1000000' \
    "$work/out" || fail "JSON: $(cat "$work/out")"

# a scale that is no number: in the first block, and in the middle where only --full looks
patch "$off" 007e
expect 4 "tensor '$name' ($type) is damaged: d of block 0 is not finite, at byte $off of the file" "$work/m.gguf"
middle=$((off + bytes * 3 / 10 / block * block))
patch $middle 007c
expect 0 'samples' "$work/m.gguf"
expect 4 "at byte $middle of the file" "$work/m.gguf" --full --threads 3
expect 4 '"status":"DAMAGED"' "$work/m.gguf" --full --json

# what gets saved instead of a model
head -c 3000000 "$model" >"$work/m.gguf"
expect 4 'bytes are missing' "$work/m.gguf"
sum=$(sha256sum <"$work/m.gguf" | cut -d ' ' -f 1)
expect 4 "$sum" "$work/m.gguf" --sha256
cp "$model" "$work/m.gguf"
: >"$work/m.gguf.aria2"
expect 4 'unfinished download' "$work/m.gguf"
rm "$work/m.gguf.aria2"
for suffix in part crdownload aria2; do
    cp "$model" "$work/x.gguf.$suffix"
    expect 4 "ends in .$suffix, which marks an unfinished download" "$work/x.gguf.$suffix"
    expect 3 "one with .$suffix at the end of its name: the download has not finished" "$work/x.gguf"
    rm "$work/x.gguf.$suffix"
done
printf '<html>' >"$work/page.gguf"
expect 4 'is an HTML page' "$work/page.gguf"
expect 3 'no such file (did you mean page.gguf?)' "$work/pgae.gguf"
expect 2 'is a folder; name one of its 2 .gguf files' "$work"

# the file of a run shrinks: a sentence and exit 8, no crash
mkfifo "$work/pipe"
exec 3<>"$work/pipe"
"$convect" run "$work/m.gguf" --greedy --ignore-eos Hello >"$work/pipe" 2>"$work/err" 3>&- &
pid=$!
dd bs=1 count=1 <&3 >/dev/null 2>&1
truncate -s 4096 "$work/m.gguf"
cat <&3 >/dev/null &
reader=$!
wait $pid
rc=$?
kill $reader
exec 3>&-
[ $rc -eq 8 ] || fail "a file that shrinks: exit $rc: $(cat "$work/err")"
tail -n 1 "$work/err" | grep -q '^convect: a file in use cannot be read any more' || fail "a file that shrinks: $(cat "$work/err")"

[ $n_failed -eq 0 ]
