"""Expressions over the losses of stdlib/prelude_losses.kiln."""
from cases_composed import MATRIX, gradients

OTHER = f"{MATRIX}.flip(1)"
SIGNS = "tensor([[1.0, -1.0, 1.0, 1.0], [-1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, 1.0]])"
ONE_SIGN = "tensor([1, -1, 1])"
COUNTS = "tensor([[0.0, 1.0, 2.0, 5.0], [3.0, 0.0, 1.0, 1.5], [2.0, 2.0, 7.0, 0.0]])"
LOGITS = "((arange(72.0) * 7 % 11).reshape(6, 3, 4) / 4)"
LENGTHS = "tensor([6, 5, 4]), tensor([3, 2, 1])"
TARGETS = "tensor([[1, 2, 2], [3, 1, 0], [2, 0, 0]])"


def losses():
    calls = [
        ("hinge_embedding_loss", f"{MATRIX}, {SIGNS}", ["margin=2.0"]),
        ("margin_ranking_loss", f"{MATRIX}, {OTHER}, {SIGNS}", ["margin=0.5"]),
        ("triplet_margin_loss", f"{MATRIX}, {OTHER}, {MATRIX}.flip(0)", ["margin=4.0", "p=1", "swap=true", "eps=0.5"]),
        ("cosine_embedding_loss", f"{MATRIX}, {OTHER}, {ONE_SIGN}", ["margin=0.25"]),
        ("poisson_nll_loss", f"{MATRIX}, {COUNTS}", ["full=true", "log_input=false, eps=3.0"]),
        ("gaussian_nll_loss", f"{MATRIX}, {OTHER}, {COUNTS}", ["full=true", "eps=0.5"]),
        ("soft_margin_loss", f"{MATRIX}, {SIGNS}", []),
        ("multi_margin_loss", f"{MATRIX}, tensor([0, 3, 1])", ["p=2", "margin=0.5", "weight=tensor([0.5, 1.0, 2.0, 4.0])", "p=3"]),
        ("multilabel_soft_margin_loss", f"{MATRIX}, ({SIGNS} + 1) / 2", ["weight=tensor([0.5, 1.0, 2.0, 4.0])"]),
    ]
    for name, operands, options in calls:
        for rest in ["", *options]:
            for reduction in ["mean", "sum", "none", "other"]:
                yield f"{name}({operands}{', ' if rest else ''}{rest}, reduction=\"{reduction}\")"
        yield from gradients([(MATRIX, f"{name}({operands.replace(MATRIX, 'x', 1)}{', ' if rest else ''}{rest})") for rest in ["", *options]
                              if rest != "p=3"])
    yield from [
        "hinge_embedding_loss(tensor([1.0, 2.0]), tensor([0.0, 1.0]))", "margin_ranking_loss(ones(2), ones(2, 2), ones(2))",
        "triplet_margin_loss(ones(2), ones(3, 2), ones(2))", "triplet_margin_loss(ones(2, 3), ones(2, 3), ones(2, 3), margin=0.0)",
        "triplet_margin_loss(ones(3), zeros(3), ones(3))", "cosine_embedding_loss(ones(3), ones(3), tensor(-1))",
        "cosine_embedding_loss(ones(2, 3), ones(3), tensor([1, 1]))", "cosine_embedding_loss(zeros(1, 3), ones(1, 3), tensor([1]))",
        "gaussian_nll_loss(ones(2, 3), zeros(2, 3), ones(2))", "gaussian_nll_loss(ones(2, 3), zeros(2, 3), ones(2, 1))",
        "gaussian_nll_loss(ones(2, 3), zeros(2, 3), ones(3))", "gaussian_nll_loss(ones(2, 3), zeros(2, 3), 2.0)",
        "gaussian_nll_loss(ones(2), zeros(2), -1.0)", "multi_margin_loss(tensor([1.0, 0.5, 2.0]), tensor(1))",
        "multi_margin_loss(ones(2, 3), tensor([0]))", "multi_margin_loss(ones(2, 3), tensor([0, 1]), weight=ones(2))",
        "soft_margin_loss(tensor([-50.0, 50.0]), tensor([1.0, 1.0]), reduction=\"none\")",
        "soft_margin_loss(zeros(0), zeros(0), reduction=\"sum\")",
    ]
    for reduction in ["mean", "sum", "none", "other"]:
        yield f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS}, {LENGTHS}, reduction=\"{reduction}\")"
        yield f"ctc_loss(log_softmax({LOGITS}, 2), tensor([1, 2, 2, 3, 1, 2]), {LENGTHS}, reduction=\"{reduction}\")"
        yield f"ctc_loss(log_softmax({LOGITS}[:, 0], 1), tensor([1, 2]), tensor(6), tensor(2), reduction=\"{reduction}\")"
        yield f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS}, [6, 2, 0], [3, 2, 0], reduction=\"{reduction}\", zero_infinity=true)"
        yield f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS}, [2, 5, 1], [3, 2, 1], reduction=\"{reduction}\")"
    yield from [
        f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS} % 3, {LENGTHS}, blank=3)", f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS}, {LENGTHS}, blank=4)",
        f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS}, [7, 5, 4], [3, 2, 1])", f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS}, [6, 5], [3, 2])",
        f"ctc_loss(log_softmax({LOGITS}, 2), {TARGETS}, [6, 5, 4], [4, 2, 1])", f"ctc_loss(log_softmax({LOGITS}, 2).to(f64), {TARGETS}, {LENGTHS})",
    ]
    yield from gradients([
        (LOGITS, f"ctc_loss(log_softmax(x, 2), {TARGETS}, {LENGTHS})"),
        (LOGITS, f"ctc_loss(log_softmax(x, 2), {TARGETS}, [2, 5, 4], [3, 2, 1], reduction=\"sum\", zero_infinity=true)")])
