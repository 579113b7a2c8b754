"""The float32 originals as four safetensors files, each under 16 MiB."""
import pathlib

from safetensors.torch import load_file, save_file

N_FILES = 4


def save(P, folder):
    parts, sizes = [{} for _ in range(N_FILES)], [0] * N_FILES
    for name in sorted(P, key=lambda n: -P[n].numel()):
        i = sizes.index(min(sizes))
        parts[i][name] = P[name].detach().float().cpu().contiguous()
        sizes[i] += P[name].numel()
    for i, part in enumerate(parts):
        save_file(part, str(pathlib.Path(folder) / f"weights-{i}.safetensors"))


def load(folder):
    out = {}
    for i in range(N_FILES):
        out |= load_file(str(pathlib.Path(folder) / f"weights-{i}.safetensors"))
    return out
