/* All options of the program, one row each: the only place where an option is declared. Parsing, --help, CONVECT_*
 * names, completion and the manual page follow from it.
 *
 * X(symbol, name, letter, type, argument, default, limits, commands, help); see engine/base/option.h for the types and
 * the texts of default and limits. A name may occur twice if no command takes both. */
#ifndef CONVECT_TOOLS_OPTIONS_H
#define CONVECT_TOOLS_OPTIONS_H

#define COMMAND_RUN        (UINT64_C(1) << 0)
#define COMMAND_INSPECT    (UINT64_C(1) << 1)
#define COMMAND_TOKENIZE   (UINT64_C(1) << 2)
#define COMMAND_QUANTIZE   (UINT64_C(1) << 3)
#define COMMAND_SYNTH      (UINT64_C(1) << 4)
#define COMMAND_PLAN       (UINT64_C(1) << 5)
#define COMMAND_VERSION    (UINT64_C(1) << 6)
#define COMMAND_COMPLETION (UINT64_C(1) << 7)
#define COMMAND_MAN        (UINT64_C(1) << 8)
#define COMMAND_PPL        (UINT64_C(1) << 9)
#define COMMAND_CHECK      (UINT64_C(1) << 10)
#define COMMAND_DOCTOR     (UINT64_C(1) << 11)
#define COMMAND_ALL        (~UINT64_C(0))

/* clang-format off */
#define OPTION_LIST(X)                                                                                                 \
    /* sampling */                                                                                                     \
    X(OPT_GREEDY, "greedy", 0, FLAG, NULL, NULL, NULL, COMMAND_RUN,                                                    \
      "always take the most likely token; the sampling options below do not apply")                                    \
    X(OPT_TEMP, "temp", 0, F64, "T", "0.7", "0..100", COMMAND_RUN, "temperature; 0 is --greedy")                       \
    X(OPT_TOP_K, "top-k", 0, U64, "N", "20", "0..1000000", COMMAND_RUN, "keep the N most likely tokens; 0 keeps all")  \
    X(OPT_TOP_P, "top-p", 0, F64, "P", "0.8", ">0..1", COMMAND_RUN,                                                    \
      "keep the most likely tokens that sum to probability P")                                                         \
    X(OPT_MIN_P, "min-p", 0, F64, "P", "0", "0..<1", COMMAND_RUN,                                                      \
      "drop tokens less likely than P times the most likely one")                                                      \
    X(OPT_SEED, "seed", 0, U64, "N", "0", "0..18446744073709551615", COMMAND_RUN | COMMAND_SYNTH,                      \
      "seed of the generator; the same seed gives the same result")                                                    \
    /* the answer */                                                                                                   \
    X(OPT_N_PREDICT, "n-predict", 'n', U64, "N", NULL, "0..16777216", COMMAND_RUN,                                     \
      "stop after N tokens; without it at an end token or when the context is full")                                   \
    X(OPT_IGNORE_EOS, "ignore-eos", 0, FLAG, NULL, NULL, NULL, COMMAND_RUN, "go on after the end-of-text token")       \
    X(OPT_RAW, "raw", 0, FLAG, NULL, NULL, NULL, COMMAND_RUN, "give the prompt as it is, without the chat form")       \
    X(OPT_SPECIAL, "special", 0, FLAG, NULL, NULL, NULL, COMMAND_RUN,                                                  \
      "read control tokens in a --raw prompt as such instead of as plain text")                                        \
    X(OPT_SYSTEM, "system", 0, STRING, "TEXT", NULL, NULL, COMMAND_RUN, "system message of the chat form")             \
    X(OPT_STATS_JSON, "stats-json", 0, PATH, "FILE", NULL, NULL, COMMAND_RUN,                                          \
      "write times, speeds and counters as JSON to FILE")                                                              \
    /* memory and machine */                                                                                           \
    X(OPT_CTX, "ctx", 0, U64, "N", "8192", "64..16777216", COMMAND_RUN | COMMAND_PLAN,                                 \
      "room for prompt and answer, in tokens; the default shrinks to what the model has")                              \
    X(OPT_KV, "kv", 0, CHOICE, "TYPE", "f16", "f16|int8", COMMAND_RUN | COMMAND_PLAN | COMMAND_PPL,                    \
      "type of the KV cache; int8 is lossy")                                                                           \
    X(OPT_RAM, "ram", 0, SIZE, "SIZE", NULL, "1MiB..1024TiB", COMMAND_RUN | COMMAND_PLAN,                              \
      "RAM to fit into instead of what is available")                                                                  \
    X(OPT_CHUNK, "chunk", 0, U64, "N", "512", "64..16384 step 64", COMMAND_RUN | COMMAND_PLAN | COMMAND_PPL,           \
      "tokens of a prefill chunk; changes speed only")                                                                 \
    X(OPT_THREADS, "threads", 't', U64, "N", "0", "0..1024",                                                           \
      COMMAND_RUN | COMMAND_QUANTIZE | COMMAND_SYNTH | COMMAND_PPL | COMMAND_CHECK,                                    \
      "worker threads; 0 is one per physical core")                                                                    \
    X(OPT_CPU_LEVEL, "cpu-level", 0, CHOICE, "LEVEL", "auto", "auto|ref|avx2", COMMAND_RUN | COMMAND_PPL,              \
      "highest instruction set to use; changes speed only")                                                            \
    /* files */                                                                                                        \
    X(OPT_MIX, "mix", 0, CHOICE, "MIX", "q4_k_m", "q8_0|q6_k|q4_k_m|ud-q4|q2_k", COMMAND_QUANTIZE,                     \
      "formats of the tensors")                                                                                        \
    X(OPT_SYNTH_MIX, "mix", 0, CHOICE, "MIX", "q4_k_m", "q4_k_m|ud-q4|q2_k", COMMAND_SYNTH, "formats of the tensors")  \
    X(OPT_PRESET, "preset", 0, CHOICE, "NAME", "35b-a3b", "35b-a3b", COMMAND_SYNTH, "geometry of the model")           \
    X(OPT_LIKE, "like", 0, PATH, "FILE", NULL, NULL, COMMAND_SYNTH,                                                    \
      "take names, shapes, types and metadata kinds from a tensor list (JSON) instead of a preset")                    \
    X(OPT_LAYERS, "layers", 0, U64, "N", NULL, "1..1024", COMMAND_SYNTH, "layers to write; all by default")            \
    X(OPT_MTP, "mtp", 0, FLAG, NULL, NULL, NULL, COMMAND_SYNTH, "write the MTP block too")                              \
    X(OPT_VOCAB, "vocab", 0, U64, "N", NULL, "512..400000", COMMAND_SYNTH, "cut the vocabulary to N tokens")            \
    X(OPT_SKEW, "skew", 0, F64, "S", "0", "0..4", COMMAND_SYNTH,                                                       \
      "exponent of the Zipf law of expert popularity; 0 is uniform")                                                   \
    /* measuring and checking */                                                                                       \
    X(OPT_FILE, "file", 'f', PATH, "FILE", NULL, NULL, COMMAND_PPL, "text to predict; - is standard input")            \
    X(OPT_VERIFY, "verify", 0, PATH, "FILE", NULL, NULL, COMMAND_QUANTIZE,                                             \
      "afterwards compare the result with its source on this text: KL divergence and top-1 agreement")                 \
    X(OPT_WINDOW, "ctx", 0, U64, "N", "512", "64..16777216", COMMAND_PPL | COMMAND_QUANTIZE,                           \
      "tokens of a window of the text")                                                                                \
    X(OPT_TEXT_SPECIAL, "special", 0, FLAG, NULL, NULL, NULL, COMMAND_PPL | COMMAND_QUANTIZE, \
      "read control tokens in the text as such instead of as plain text")                                              \
    X(OPT_SAVE_LOGITS, "save-logits", 0, PATH, "FILE", NULL, NULL, COMMAND_PPL,                                        \
      "write the distribution at each position to FILE, for --kl")                                                     \
    X(OPT_KL, "kl", 0, PATH, "BASE", NULL, NULL, COMMAND_PPL,                                                          \
      "compare with the distributions that --save-logits wrote to BASE")                                               \
    X(OPT_TOP, "top", 0, U64, "N", "1024", "0..16777216", COMMAND_PPL | COMMAND_QUANTIZE,                              \
      "most likely tokens to store a position, the rest as one sum; 0 stores all")                                     \
    X(OPT_CHANGES, "changes", 0, U64, "N", "20", "0..1000000", COMMAND_PPL | COMMAND_QUANTIZE,                         \
      "most changes of the most likely token to list")                                                                 \
    X(OPT_FULL, "full", 0, FLAG, NULL, NULL, NULL, COMMAND_CHECK, "read all weights instead of samples")               \
    X(OPT_SHA256, "sha256", 0, FLAG, NULL, NULL, NULL, COMMAND_CHECK, "print the SHA-256 sum of each file")            \
    X(OPT_REPORT, "report", 0, PATH, "FILE", NULL, NULL, COMMAND_DOCTOR,                                               \
      "write the findings as JSON to FILE, without names of users, hosts or folders")                                  \
    /* text in and out */                                                                                              \
    X(OPT_JSONL, "jsonl", 0, FLAG, NULL, NULL, NULL, COMMAND_TOKENIZE,                                                 \
      "one JSON string a line on stdin, one JSON array of ids a line on stdout")                                       \
    X(OPT_NO_SPECIAL, "no-special", 0, FLAG, NULL, NULL, NULL, COMMAND_TOKENIZE,                                       \
      "read control tokens in the text as plain text")                                                                 \
    X(OPT_DECODE, "decode", 0, FLAG, NULL, NULL, NULL, COMMAND_TOKENIZE, "ids in, text out")                           \
    X(OPT_JSON, "json", 0, FLAG, NULL, NULL, NULL, COMMAND_INSPECT | COMMAND_PLAN | COMMAND_VERSION | COMMAND_PPL | COMMAND_CHECK | COMMAND_DOCTOR,                   \
      "print one JSON object")                                                                                         \
    X(OPT_QUIET, "quiet", 'q', FLAG, NULL, NULL, NULL, COMMAND_RUN | COMMAND_QUANTIZE | COMMAND_SYNTH | COMMAND_PPL | COMMAND_CHECK,                 \
      "no progress, no summary line")                                                                                  \
    X(OPT_LOG_LEVEL, "log-level", 0, CHOICE, "LEVEL", "info", "error|warn|info|debug|trace", COMMAND_ALL,              \
      "least important messages to show on stderr")
/* clang-format on */

enum {
#define X(symbol, name, letter, type, arg, preset, limits, commands, help) symbol,
    OPTION_LIST(X)
#undef X
        OPT_COUNT
};

#endif
