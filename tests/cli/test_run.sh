#!/bin/sh
# test_run.sh ROOT CONVECT: convect run from outside, on the demo model. Skipped (77) without it.
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

# run ARGUMENTS...: exit code in $rc, answer in $work/out, the rest in $work/err
run() {
    "$convect" run "$model" "$@" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
}

# answer TEXT ARGUMENTS...: exactly this on stdout
answer() {
    want=$1
    shift
    run "$@"
    [ $rc -eq 0 ] || fail "$*: exit $rc: $(cat "$work/err")"
    printf '%s' "$want" | cmp -s - "$work/out" || fail "$*: answered '$(cat "$work/out")', not '$want'"
}

# refuse CODE TEXT ARGUMENTS...: this on stderr, nothing on stdout
refuse() {
    code=$1 text=$2
    shift 2
    run "$@"
    [ $rc -eq "$code" ] || fail "$*: exit $rc, not $code: $(cat "$work/err")"
    grep -qF -- "$text" "$work/err" || fail "$*: stderr lacks '$text': $(cat "$work/err")"
    [ ! -s "$work/out" ] || fail "$*: an error wrote to stdout"
}

# has TEXT...: the statistics file holds each of them
has() {
    for text; do grep -qF -- "$text" "$work/stats" || fail "the statistics lack '$text': $(cat "$work/stats")"; done
}

# JSON string body -> text: the committed questions use no other escapes than these
unescape() {
    printf '%b' "$(printf '%s' "$1" | sed 's/\\"/"/g')"
}

# the committed questions, {"prompt": "...", "answer": "..."} a line
while IFS= read -r line; do
    question=$(unescape "$(printf '%s' "$line" | sed 's/^{"prompt": *"\(.*\)", *"answer": *".*"}$/\1/')")
    want=$(unescape "$(printf '%s' "$line" | sed 's/^{"prompt": *".*", *"answer": *"\(.*\)"}$/\1/')")
    answer "$want" --greedy -- "$question"
    printf '%s' "$question" >"$work/question"
done <"$root/tools/demo/questions.jsonl"
[ -s "$work/question" ] || fail "no questions"

# what stderr says: the device in the first line, the figures in the last
run --greedy "$(cat "$work/question")"
head -n 1 "$work/err" | grep -q 'runs on the CPU' || fail "the first line: $(head -n 1 "$work/err")"
tail -n 1 "$work/err" | grep -Eq 'prompt [0-9]+ tokens, [0-9.]+ tok/s; answer [0-9]+ tokens.* MB read per token, .*GB/s' ||
    fail "the last line: $(tail -n 1 "$work/err")"
if LC_ALL=C grep -q "$(printf '\033')" "$work/err"; then fail "escape sequences without a terminal"; fi
run --greedy --quiet "$(cat "$work/question")"
[ ! -s "$work/err" ] || fail "--quiet wrote: $(cat "$work/err")"

# standard input, one way and the other; white space at the ends does not matter
for arg in - ''; do
    printf ' \n%s\n\n' "$(cat "$work/question")" | "$convect" run "$model" --greedy ${arg:+"$arg"} >"$work/out" 2>"$work/err" ||
        fail "standard input: $(cat "$work/err")"
    printf '%s' "$want" | cmp -s - "$work/out" || fail "standard input: answered '$(cat "$work/out")'"
done
refuse 2 'the prompt is empty'
refuse 2 'the prompt is empty' ' '
refuse 2 'the prompt is empty' --raw ''

# the chat form is what --raw --special spells out
chat=$(printf '<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n.' "$(cat "$work/question")")
answer "$want" --greedy --raw --special -- "${chat%.}"
run --greedy -n 8 --raw --stats-json "$work/stats" '<|im_end|>' # plain text: more than one token
has '"is_raw":true'
if grep -q '"n_prompt_tokens":1,' "$work/stats"; then fail "--raw read a control token"; fi
run --greedy -n 8 --raw --special --stats-json "$work/stats" '<|im_end|>'
has '"n_prompt_tokens":1,'
refuse 2 '--special goes with --raw' --special x
refuse 2 '--system belongs to the chat form' --raw --system s x

# lengths
run --greedy -n 0 --stats-json "$work/stats" Hello
if [ $rc -ne 0 ] || [ -s "$work/out" ]; then fail "-n 0: exit $rc, $(cat "$work/out")"; fi
has '"n_answer_tokens":0,' '"n_decode_steps":0,' '"end":"length"'
run --greedy -n 1 --stats-json "$work/stats" Hello
has '"n_answer_tokens":1,' '"n_decode_steps":0,' '"machine_read_share":null'
run --greedy -n 40 --ignore-eos --stats-json "$work/stats" Hello
has '"n_answer_tokens":40,' '"n_decode_steps":39,' '"end":"length"' '"device":"cpu"' '"commit":' '"kv_is_lossy":false'
run --greedy --ctx 64 --ignore-eos --stats-json "$work/stats" Hello
[ $rc -eq 0 ] || fail "a full context: exit $rc"
grep -q 'the context of 64 tokens is full' "$work/err" || fail "a full context: $(cat "$work/err")"
has '"end":"context"'
long=$(head -c 3000 /dev/zero | tr '\0' '7')
refuse 2 'the context 64;' --greedy --ctx 64 "$long"
grep -Eq 'the prompt has [0-9]+ tokens' "$work/err" || fail "a long prompt: $(cat "$work/err")"

refuse 5 'GB are needed' --greedy --ram 20MiB Hello
"$convect" plan "$model" >"$work/out" 2>"$work/err" || fail "plan with the default context: $(cat "$work/err")"
refuse 2 'the model has' --greedy --ctx 100000 Hello

# the same bits again: from the seed, and whatever the threads, the chunk and the instruction set
run --temp 1.5 --top-k 0 --top-p 1 --seed 5 -n 60 --ignore-eos Hello
cp "$work/out" "$work/first"
for same in '--threads 1' '--threads 3' '--chunk 64' '--cpu-level ref'; do
    # shellcheck disable=SC2086
    run --temp 1.5 --top-k 0 --top-p 1 --seed 5 -n 60 --ignore-eos $same Hello
    cmp -s "$work/out" "$work/first" || fail "$same changes the answer"
done
run --temp 1.5 --top-k 0 --top-p 1 --seed 6 -n 60 --ignore-eos Hello
if cmp -s "$work/out" "$work/first"; then fail "the seed does not matter"; fi

# int8 is lossy and says so
run --greedy -n 4 --ignore-eos --kv int8 --stats-json "$work/stats" Hello
tail -n 1 "$work/err" | grep -q 'KV int8, lossy' || fail "--kv int8: $(tail -n 1 "$work/err")"
has '"kv":"int8"' '"kv_is_lossy":true'

# files and streams that fail
"$convect" run "$work/none.gguf" x >"$work/out" 2>"$work/err"
rc=$?
[ $rc -eq 3 ] || fail "a missing model: exit $rc"
"$convect" run "$root/README.md" x >"$work/out" 2>"$work/err"
rc=$?
[ $rc -eq 4 ] || fail "a file that is no model: exit $rc"
"$convect" run "$model" --greedy --ignore-eos Hello >/dev/full 2>"$work/err"
rc=$?
[ $rc -eq 8 ] || fail "a full disk: exit $rc: $(cat "$work/err")"
refuse_stats="$work/no/such/folder"
run --greedy -n 1 --stats-json "$refuse_stats" Hello
[ $rc -eq 8 ] || fail "statistics into no folder: exit $rc"

# a closed pipe ends it with 8, ^C with 130
mkfifo "$work/pipe"
exec 3<>"$work/pipe"
"$convect" run "$model" --greedy --ignore-eos Hello >"$work/pipe" 2>"$work/err" 3>&- &
pid=$!
dd bs=1 count=1 <&3 >/dev/null 2>&1
exec 3>&-
wait $pid
rc=$?
[ $rc -eq 8 ] || fail "a closed pipe: exit $rc: $(cat "$work/err")"
exec 3<>"$work/pipe"
env --default-signal=INT "$convect" run "$model" --greedy --ignore-eos Hello >"$work/pipe" 2>"$work/err" &
pid=$!
dd bs=1 count=1 <&3 >/dev/null 2>&1
kill -INT $pid
wait $pid
rc=$?
exec 3>&-
[ $rc -eq 130 ] || fail "an interrupt: exit $rc: $(cat "$work/err")"
tail -n 1 "$work/err" | grep -q 'convect: interrupted' || fail "an interrupt: $(cat "$work/err")"

[ $n_failed -eq 0 ]
