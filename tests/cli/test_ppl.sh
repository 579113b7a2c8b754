#!/bin/sh
# test_ppl.sh ROOT CONVECT: convect ppl and quantize --verify from outside, on the demo model. Skipped (77) without it.
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

# ppl ARGUMENTS...: exit code in $rc, output in $work/out and $work/err
ppl() {
    "$convect" ppl "$model" "$@" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
}

# refuse CODE TEXT ARGUMENTS...: this on stderr, nothing on stdout
refuse() {
    code=$1 text=$2
    shift 2
    ppl "$@"
    [ $rc -eq "$code" ] || fail "$*: exit $rc, not $code: $(cat "$work/err")"
    grep -qF -- "$text" "$work/err" || fail "$*: stderr lacks '$text': $(cat "$work/err")"
    [ ! -s "$work/out" ] || fail "$*: an error wrote to stdout"
}

has() {
    for text; do grep -qF -- "$text" "$work/out" || fail "the output lacks '$text': $(cat "$work/out")"; done
}

head -n 4 "$root/tests/data/demo/heldout.jsonl" | sed 's/^.*"text":"//; s/"}$//; s/\\n/\
/g' >"$work/text"

ppl -f "$work/text" --special --ctx 64 --top 0 --save-logits "$work/full"
[ $rc -eq 0 ] || fail "ppl: exit $rc: $(cat "$work/err")"
has 'perplexity ' 'windows of 64 tokens' 'KV f16'
ppl -f - --special --ctx 64 --json <"$work/text" # standard input is /dev/null here
[ $rc -eq 2 ] || fail "an empty text: exit $rc"
"$convect" ppl "$model" -f - --special --ctx 64 --kl "$work/full" <"$work/text" >"$work/out" 2>"$work/err" ||
    fail "standard input: $(cat "$work/err")"
has '(the same file)' 'mean 0, median 0, p99 0, max 0' 'over the whole vocabulary' '100.000 %'
ppl -f "$work/text" --special --ctx 64 --kl "$work/full" --kv int8 --json
has '"kv_is_lossy":true' '"is_lower_bound":false' '"base_is_same_model":true' '"n_same_top":'
python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); k = o["kl"]
assert k["n_same_top"] + k["n_changes"] == o["n_predicted"] and len(k["changes"]) == min(k["n_changes"], 20)
assert 0 < k["median"] <= k["p99"] <= k["max"] and k["mean"] < 0.1' "$work/out" || fail "JSON: $(cat "$work/out")"

# fewer tokens: a smaller file, and the output says what the figure is
ppl -f "$work/text" --special --ctx 64 --top 20 --save-logits "$work/some" --quiet
[ "$(wc -c <"$work/some")" -lt $(($(wc -c <"$work/full") / 20)) ] || fail "--top 20 is no smaller"
ppl -f "$work/text" --special --ctx 64 --kl "$work/some" --kv int8
has 'over the 20 most likely tokens of the base and one outcome for all others' 'a lower bound' 'int8 (lossy)'

# wrong use and damaged files
refuse 2 'no text: name a file with -f'
refuse 3 'no-such-text' -f "$work/no-such-text"
refuse 3 'no-such-base' -f "$work/text" --kl "$work/no-such-base"
refuse 2 'use --ctx 64' -f "$work/text" --special --kl "$work/full"
refuse 2 'another text' -f "$work/text" --ctx 64 --kl "$work/full"
refuse 4 'no file of stored logits' -f "$work/text" --ctx 64 --kl "$work/text"
head -c 100000 "$work/full" >"$work/cut"
refuse 4 'its length does not fit its header' -f "$work/text" --special --ctx 64 --kl "$work/cut"
refuse 3 'cannot write' -f "$work/text" --save-logits "$work/no/such/folder"
cp "$work/some" "$work/kept"
cp "$work/some" "$work/before"
(ulimit -f 20 && exec "$convect" ppl "$model" -f "$work/text" --save-logits "$work/kept") >"$work/out" 2>"$work/err"
rc=$?
[ $rc -eq 8 ] || fail "a limit on the size of files: exit $rc: $(cat "$work/err")"
grep -q 'cannot write .*: it needs 0...* GB' "$work/err" || fail "a limit on the size of files: $(cat "$work/err")"
cmp -s "$work/kept" "$work/before" || fail "a failed write changed the older file"
ls "$work"/*.part >/dev/null 2>&1 && fail "a temporary file was left"

# an interrupt ends it with 130 and leaves nothing
n=0
while [ $n -lt 64 ]; do
    cat "$work/text"
    n=$((n + 1))
done >"$work/long"
env --default-signal=INT "$convect" ppl "$model" -f "$work/long" --save-logits "$work/never" >"$work/out" 2>"$work/err" &
pid=$!
while ! ls "$work"/never.*.part >/dev/null 2>&1 && kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -INT $pid
wait $pid
rc=$?
[ $rc -eq 130 ] || fail "an interrupt: exit $rc: $(cat "$work/err")"
[ -z "$(find "$work" -name 'never*')" ] || fail "an interrupt left a file: $(ls "$work")"

# quantize compares its result with its source
"$convect" quantize "$model" "$work/small.gguf" --mix q2_k --verify "$work/text" --special --ctx 64 >"$work/out" 2>"$work/err" ||
    fail "quantize --verify: $(cat "$work/err")"
has 'KL(base || this), nats: mean 0.' 'same most likely token' 'against "Convect demo", KV f16'
[ "$(find "$work" -name 'small.gguf*' | wc -l)" -eq 1 ] || fail "quantize --verify left a file: $(ls "$work")"
"$convect" quantize "$model" "$work/none.gguf" --verify "$work/no-such-text" >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -ne 3 ] || [ -e "$work/none.gguf" ]; then fail "a missing text: exit $rc, or a result all the same"; fi

[ $n_failed -eq 0 ]
