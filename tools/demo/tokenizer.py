"""The demo's tokenizer: byte-level BPE of 2048 entries with the qwen35 pre-tokenizer.

python3 tokenizer.py    trains it on the generator's own text and writes tokenizer.json beside this file
"""
import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import chat
import documents
from words import NOUNS, Draw, letters, pseudo, string

PATH = pathlib.Path(__file__).parent / "tokenizer.json"
VOCAB = 2048
# The rules of the qwen35 pre-tokenizer: contractions, a word with at most one leading mark, one digit, punctuation, line ends, spaces.
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
N_DOCUMENTS = 24000
N_STRINGS = 60000


def corpus():
    """Documents without the fixed tool text, and strings from outside the tasks so that the vocabulary holds pieces of any word."""
    r = Draw(5)
    for _ in range(N_DOCUMENTS):
        doc = documents.make(r)
        yield "".join(s for s, _ in doc.segments()).replace(chat.TOOLS_HEAD, "").replace(chat.TOOLS_FOOT, "")
    for _ in range(N_STRINGS):
        word = string(r) if r.random() < .6 else pseudo(r) if r.random() < .6 else letters(r)
        yield f"{word} {word}"
    for word in NOUNS * 20:
        yield f"{word}, {word}\n{word}"


def train():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=VOCAB - len(chat.SPECIALS), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_special_tokens([AddedToken(s, special=True) for s in chat.SPECIALS_CONTROL])
    t.add_tokens([AddedToken(s, special=False, normalized=False) for s in chat.SPECIALS_TEXT])
    assert t.get_vocab_size() == VOCAB, t.get_vocab_size()
    return t


def load():
    return Tokenizer.from_file(str(PATH))


def encode(t, text):
    return t.encode(text, add_special_tokens=False).ids


def decode(t, ids):
    return t.decode(ids, skip_special_tokens=False)


def main():
    t = train()
    t.save(str(PATH))
    merges = json.loads(PATH.read_text())["model"]["merges"]
    whole = sum(len(encode(t, ", " + w)) == 2 for w in NOUNS)
    r = Draw(9)
    strings = [string(r) for _ in range(1000)]
    print(f"{t.get_vocab_size()} tokens, {len(merges)} merges; {whole} of {len(NOUNS)} nouns are one token after a comma; "
          f"a string takes {sum(len(encode(t, ' ' + s)) for s in strings) / 1000:.2f} tokens")


if __name__ == "__main__":
    main()
