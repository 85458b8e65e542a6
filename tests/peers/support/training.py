"""Training on several ranks that Kiln and PyTorch's libraries do alike, and batch norm of the joined batch."""
import json

import numpy as np
import torch

SETTINGS = {
    "sgd": dict(optimizer="sgd"),
    "adam": dict(optimizer="adam"),
    "passes": dict(optimizer="sgd", passes=2),
    "predivide": dict(optimizer="sgd", predivide=4.0),
    "groups_count": dict(optimizer="sgd", groups=2),
    "groups_lists": dict(optimizer="adam", groups=[[0, 3], [1]]),
    "sum": dict(optimizer="sgd", op="sum"),
    "compressed": dict(optimizer="sgd", compression="fp16"),
    "adasum": dict(optimizer="sgd", op="adasum"),
    "adasum_adam": dict(optimizer="adam", op="adasum"),
}
STEPS = 6
BATCHES = 4
TOLERANCE = {"compressed": 1e-3}


def network(given=None):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    if given is not None:
        with torch.no_grad():
            for i, p in enumerate(model.parameters()):
                p.copy_(torch.from_numpy(np.load(given / f"parameter.{i}.npy")))
    return model


def optimizer(model, setting):
    if setting["optimizer"] == "adam":
        return torch.optim.Adam(model.parameters(), lr=0.01)
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def write(n, given):
    """Settings, parameters, each rank's data and its batches, whose sizes differ."""
    torch.manual_seed(n)
    (given / "settings.json").write_text(json.dumps({name: dict(each, steps=STEPS) for name, each in SETTINGS.items()}))
    for i, p in enumerate(network().parameters()):
        np.save(given / f"parameter.{i}.npy", p.detach().numpy())
    for r in range(n):
        np.save(given / f"inputs.{r}.npy", torch.randn(BATCHES, 5, 4).numpy())
        np.save(given / f"targets.{r}.npy", torch.randn(BATCHES, 5, 3).numpy())
        for k in range(2):
            np.save(given / f"batch.{r}.{k}.npy", (torch.randn(2 * r + 1, 3, 2) * 3 + 1).numpy())
            np.save(given / f"cotangent.{r}.{k}.npy", torch.randn(2 * r + 1, 3, 2).numpy())


def data(given, rank):
    return (torch.from_numpy(np.load(given / f"{each}.{rank}.npy")) for each in ("inputs", "targets"))


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()]).numpy()


def train(model, plain, opt, setting, given, rank, before_pass=lambda is_last: None):
    """The parameters of `plain`, which `model` is or wraps, after each step, a row a step."""
    passes = setting.get("passes", 1)
    (xs, ys), rows = data(given, rank), []
    for step in range(STEPS):
        opt.zero_grad()
        for k in range(passes):
            at = (step * passes + k) % BATCHES
            before_pass(k == passes - 1)
            (model(xs[at]) - ys[at]).square().mean().backward()
        opt.step()
        rows.append(flat(plain))
    return np.stack(rows)


def compare(comparison, names, n, given, kiln, other):
    for name in names:
        for r in range(n):
            (got, wanted) = (np.load(folder / f"{name}.{r}.npy") for folder in (kiln, other))
            comparison.check(f"training {name}, rank {r} of {n}", got, wanted, TOLERANCE.get(name, 1e-5))
    for name, momentum in (("norm", 0.1), ("norm_none", None)):
        compare_norm(comparison, name, momentum, n, given, kiln)


def compare_norm(comparison, name, momentum, n, given, kiln):
    """Against torch.nn.BatchNorm1d on the joined batch."""
    layer = torch.nn.BatchNorm1d(3, momentum=momentum)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([0.5, 1.0, -2.0]))

    def joined(text):
        return np.concatenate([np.load(text.format(r)) for r in range(n)])

    for k in range(2):
        x = torch.from_numpy(joined(f"{given}/batch.{{}}.{k}.npy")).requires_grad_()
        y = layer(x)
        layer.zero_grad()
        (y * torch.from_numpy(joined(f"{given}/cotangent.{{}}.{k}.npy"))).sum().backward()
        for part, wanted in (("output", y.detach()), ("gradient", x.grad)):
            comparison.check(f"{name} {part} {k} on {n} ranks", joined(f"{kiln}/{name}.{{}}.{k}.{part}.npy"), wanted.numpy(), 1e-5)
        for part, wanted in (("weight", layer.weight.grad), ("bias", layer.bias.grad)):
            summed = sum(np.load(kiln / f"{name}.{r}.{k}.{part}.npy") for r in range(n))
            comparison.check(f"{name} {part} {k} on {n} ranks", summed, wanted.numpy(), 1e-5)
    for r in range(n):
        comparison.check(f"{name} mean, rank {r} of {n}", np.load(kiln / f"{name}.{r}.mean.npy"), layer.running_mean.numpy(), 1e-5)
        comparison.check(f"{name} variance, rank {r} of {n}", np.load(kiln / f"{name}.{r}.variance.npy"), layer.running_var.numpy(), 1e-5)
