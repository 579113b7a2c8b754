#!/bin/sh
# test_tokenize.sh ROOT CONVECT: convect tokenize from outside, on Qwen3's vocabulary. Skipped (77) without python3.
set -u
root=$1
convect=$2
if ! command -v python3 >/dev/null || [ ! -f "$root/tools/tokenizer2gguf.py" ]; then
    echo "skipped: no python3 or no tools/tokenizer2gguf.py"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0
vocab=$work/vocab.gguf
data=$root/tests/data/tokenizer
python3 "$root/tools/tokenizer2gguf.py" "$data/qwen3-tokenizer.json.gz" "$vocab" || exit 1

fail() {
    echo "FAIL: $*"
    n_failed=$((n_failed + 1))
}

# check INPUT OUTPUT ARGUMENTS...: exit 0, exactly this on stdout, nothing on stderr (texts in printf's escapes)
check() {
    # shellcheck disable=SC2059
    printf "$1" >"$work/in"
    # shellcheck disable=SC2059
    printf "$2" >"$work/want"
    shift 2
    "$convect" tokenize "$vocab" "$@" <"$work/in" >"$work/out" 2>"$work/err" || fail "$*: exit $?: $(cat "$work/err")"
    cmp -s "$work/out" "$work/want" || fail "$*: printed '$(cat "$work/out")', not '$(cat "$work/want")'"
    [ ! -s "$work/err" ] || fail "$*: wrote to stderr: $(cat "$work/err")"
}

# refuse INPUT CODE TEXT ARGUMENTS...
refuse() {
    # shellcheck disable=SC2059
    printf "$1" >"$work/in"
    code=$2 text=$3
    shift 3
    "$convect" tokenize "$vocab" "$@" <"$work/in" >"$work/out" 2>"$work/err"
    rc=$?
    [ $rc -eq "$code" ] || fail "$*: exit $rc, not $code"
    grep -qF -- "$text" "$work/err" || fail "$*: stderr lacks '$text': $(cat "$work/err")"
}

# the golden file, there and back
python3 - "$data/qwen3-golden.jsonl" "$work" <<'PYTHON'
import json, sys, unicodedata
lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
def write(name, values):
    with open(f"{sys.argv[2]}/{name}", "w") as f:
        f.writelines(json.dumps(v, separators=(",", ":")) + "\n" for v in values)
write("texts", [line["text"] for line in lines])
write("ids", [line["ids"] for line in lines])
write("nfc", [unicodedata.normalize("NFC", line["text"]) for line in lines])
PYTHON
"$convect" tokenize "$vocab" --jsonl <"$work/texts" | cmp - "$work/ids" || fail "golden ids"
"$convect" tokenize "$vocab" --jsonl --decode <"$work/ids" >"$work/spelt" || fail "decoding the golden ids"
python3 - "$work/spelt" "$work/nfc" <<'PYTHON' || fail "golden texts"
import json, sys
spelt, want = ([json.loads(line) for line in open(path, encoding="utf-8")] for path in sys.argv[1:])
sys.exit(spelt != want)
PYTHON

check '"a b"\n""\n"\\ud83d\\ude00"\n"<|im_end|>"' '[64,293]\n[]\n[141334]\n[151645]\n' --jsonl
check '"<|im_end|><think>"\n' '[27,91,318,6213,91,29,151667]\n' --jsonl --no-special
check '[9707,11]\n[]\n[149]\n' '"Hello,"\n""\n"\357\277\275"\n' --jsonl --decode
check '[9707, 11]\n' 'Hello,' --decode
check '' '   9707  "Hello"\n 151645  "<|im_end|>"\n' 'Hello<|im_end|>'
check 'a\n' '     64  "a"\n    198  "\\n"\n' -
check '' ''
refuse '"a"\n"b\n' 4 'line 2: no JSON' --jsonl
refuse '"a"\n\n' 4 'line 2: no JSON' --jsonl
refuse '[1]\n' 4 'line 1: not a JSON string' --jsonl
refuse '[1]\n"a"\n' 4 'line 2: not a JSON array of token ids' --jsonl --decode
refuse '[1,-1]' 4 'entry 1 is no token id' --jsonl --decode
refuse '[151669]' 4 'below 151669' --decode
refuse '"a"' 2 'standard input' --jsonl text
"$convect" tokenize "$work/none.gguf" x 2>"$work/err"
[ $? -eq 3 ] || fail "a missing file: $(cat "$work/err")"
if [ -e /dev/full ]; then
    "$convect" tokenize "$vocab" x >/dev/full 2>"$work/err"
    [ $? -eq 8 ] || fail "a full disk: $(cat "$work/err")"
fi

[ $n_failed -eq 0 ]
