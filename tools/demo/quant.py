"""Which tensors the GGUF holds as Q8_0, and what that does to their values."""
import torch

KEEP_F32 = ("mlp.gate.weight", "shared_expert_gate.weight", "conv1d.weight", "in_proj_a.weight", "in_proj_b.weight")


def is_q8_0(name, tensor):
    """Matrices of the large products; the router, the convolution and the tiny gate projections stay float32."""
    return tensor.dim() >= 2 and not name.endswith(KEEP_F32)


def round_half_away(x):
    """C's roundf."""
    floor = x.abs().floor()
    return torch.sign(x) * (floor + torch.floor(2 * (x.abs() - floor)))


def q8_0_round_trip(w):
    """float32 -> Q8_0 as ggml's reference quantiser rounds -> float32"""
    blocks = w.detach().float().reshape(-1, 32)
    d = blocks.abs().amax(1, keepdim=True) / 127
    inverse = torch.where(d > 0, 1 / d, torch.zeros_like(d))
    return (round_half_away(blocks * inverse) * d.half().float()).reshape(w.shape)


def round_trip(P):
    """The parameters as an engine reads them from the GGUF."""
    return {n: q8_0_round_trip(w) if is_q8_0(n, w) else w.detach().clone() for n, w in P.items()}
