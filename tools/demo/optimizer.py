"""Muon for the large matrices, AdamW for the rest; learning rates are tensors so that a CUDA graph can replay the step."""
import torch

MUON_SUFFIXES = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", "in_proj_qkv.weight", "in_proj_z.weight", "out_proj.weight", "experts.gate_up_proj",
                 "experts.down_proj", "shared_expert.gate_proj.weight", "shared_expert.up_proj.weight", "shared_expert.down_proj.weight", "mtp.fc.weight")


def orthogonal(G):
    """Five Newton-Schulz steps towards the nearest orthogonal matrix, batched over the first axis. Coefficients: K. Jordan, Muon (2024)."""
    X = G.to(torch.bfloat16) if G.is_cuda else G
    tall = X.shape[-2] > X.shape[-1]
    X = X.transpose(-1, -2) if tall else X
    X = X / (X.float().pow(2).sum((-2, -1), keepdim=True).sqrt().to(X.dtype) + 1e-7)
    for _ in range(5):
        A = torch.bmm(X, X.transpose(-1, -2))
        X = torch.baddbmm(X, torch.baddbmm(A, A, A, beta=-4.7750, alpha=2.0315), X, beta=3.4445)
    return (X.transpose(-1, -2) if tall else X).float()


class Optimizer:
    def __init__(self, P, lr_muon=5e-3, lr_adam=2e-3, momentum=.95, decay=.05):
        self.P, self.momentum, self.decay = P, momentum, decay
        self.lr_muon, self.lr_adam = lr_muon, lr_adam
        self.groups = {}                                             # shape of a matrix -> names; experts count as one matrix each
        for n in P:
            if n.endswith(MUON_SUFFIXES):
                self.groups.setdefault(tuple(P[n].shape[-2:]), []).append(n)
        device = next(iter(P.values())).device
        self.buffers = {s: torch.zeros(sum(P[n].numel() for n in names) // (s[0] * s[1]), *s, device=device) for s, names in self.groups.items()}
        rest = [n for n in P if not n.endswith(MUON_SUFFIXES)]
        matrix = lambda n: P[n].dim() == 2
        self.rest = [P[n] for n in rest]
        self.rate = torch.zeros((), device=device)                   # factor of both learning rates, set before each step
        self.adam_rate = torch.zeros((), device=device)
        on_gpu = dict(fused=True, capturable=True) if device.type == "cuda" else {}
        self.adam = torch.optim.AdamW([dict(params=[P[n] for n in rest if matrix(n)], weight_decay=decay), dict(params=[P[n] for n in rest if not matrix(n)], weight_decay=0.0)],
                                      lr=self.adam_rate, betas=(.9, .95), eps=1e-10, **on_gpu)

    @torch.no_grad()
    def step(self):
        """Uses and drops the gradients."""
        self.adam_rate.copy_(self.rate * self.lr_adam)
        for shape, names in self.groups.items():
            params = [self.P[n] for n in names]
            G = torch.cat([p.grad.reshape(-1, *shape) for p in params])
            buffer = self.buffers[shape]
            buffer.mul_(self.momentum).add_(G)
            update = orthogonal(G.add_(buffer, alpha=self.momentum)) * (self.rate * (-self.lr_muon * .2 * max(shape) ** .5))
            parts = torch.split(update, [p.numel() // (shape[0] * shape[1]) for p in params])
            torch._foreach_mul_(params, 1 - self.rate * (self.lr_muon * self.decay))
            torch._foreach_add_(params, [u.reshape(p.shape) for u, p in zip(parts, params)])
        torch.nn.utils.clip_grad_norm_(self.rest, 1.0)
        self.adam.step()
        for p in self.P.values():
            p.grad = None


def rate_at(fraction):
    """Learning-rate factor over the run: warm-up for 2 %, flat to 45 %, then linear to zero."""
    if fraction < .02:
        return max(fraction / .02, .01)
    return 1.0 if fraction < .45 else max(0.0, (1 - fraction) / .55)
