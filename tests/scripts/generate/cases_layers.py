"""Layers of nn beside torch.nn's, with the same numbers in their parameters: values, states, gradients.

`fill(module)` writes numbers into all parameters, in their order, and gives the module; `slopes(module)` are its
gradients, without the noise where they cancel; `wave(*sizes)` is a tensor of numbers.
"""


def weighed(statements, result):
    """The result, and the gradients of a weighted sum of it."""
    yield f"{statements}; {result}"
    yield f"{statements}; y = {result}; (y * wave(*y.shape)).sum().backward(); slopes(m)"


def recurrent():
    for name, state in [("RNNCell", "wave(2, 4)"), ("GRUCell", "wave(2, 4)"), ("LSTMCell", "(wave(2, 4), wave(2, 4) * 0.5)")]:
        for options in ["", ", bias=false"] + ([", nonlinearity=\"relu\""] if name == "RNNCell" else []):
            m = f"m = fill(nn.{name}(3, 4{options}))"
            part = "[1]" if name == "LSTMCell" else ""
            yield from weighed(m, f"m(wave(2, 3)){part}")
            yield f"{m}; m(wave(2, 3), {state})"
            yield f"{m}; m(wave(3))"
            yield f"{m}; m(wave(2, 4))"
            yield f"{m}; m(wave(3), {state})"
    for name in ["RNN", "GRU", "LSTM"]:
        for options in ["", ", num_layers=2", ", bidirectional=true", ", num_layers=2, bidirectional=true, bias=false", ", 2, batch_first=true"]:
            m = f"m = fill(nn.{name}(3, 4{options}))"
            x = "wave(2, 5, 3)" if "batch_first" in options else "wave(5, 2, 3)"
            count = (2 if "2" in options else 1) * (2 if "bidirectional" in options else 1)
            first = f"wave({count}, 2, 4)"
            state = f"({first}, {first} * 0.5)" if name == "LSTM" else first
            yield f"{m}; m({x})"
            yield from weighed(m, f"m({x}, {state})[0]")
            last = f"m({x}, {state})[1]"
            yield from weighed(m, f"{last}[1]" if name == "LSTM" else last)
            yield f"{m}; m(wave(5, 3))"
            yield f"{m}; m({x}, wave(1, 3, 4))"
            yield f"{m}; m(wave(5, 2, 4))"
            yield f"{m}; [p.shape for p in m.parameters()]"
            yield f"{m}; list(m.state_dict().keys())"
    yield from ["m = fill(nn.RNN(3, 4, nonlinearity=\"relu\")); m(wave(5, 2, 3))", "nn.RNN(3, 4, nonlinearity=\"other\")",
                "m = fill(nn.LSTM(3, 4, 2, dropout=0.5)).eval(); m(wave(5, 2, 3))", "nn.LSTM(3, 4, num_layers=0)", "nn.GRU(3, 4, dropout=1.5)"]


def transformers():
    hidden = "ones(4, 4, dtype=bool).triu(1)"
    padding = "tensor([[false, false, false, true], [false, false, true, true]])"
    for options in ["", ", norm_first=true", ", activation=\"gelu\"", ", bias=false", ", batch_first=true"]:
        m = f"m = fill(nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0{options}))"
        x = "wave(2, 4, 6)" if "batch_first" in options else "wave(4, 2, 6)"
        yield from weighed(m, f"m({x})")
        yield f"{m}; m({x}, {hidden})"
        yield f"{m}; m({x}, src_key_padding_mask={padding})"
        yield f"{m}; m(wave(4, 6))"
        m = f"m = fill(nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0{options}))"
        memory = "wave(2, 3, 6)" if "batch_first" in options else "wave(3, 2, 6)"
        yield from weighed(m, f"m({x}, {memory})")
        yield f"{m}; m({x}, {memory}, tgt_mask={hidden}, tgt_key_padding_mask={padding})"
        yield f"{m}; m({x}, {memory}, memory_mask=ones(4, 3, dtype=bool).triu(1))"
    yield from weighed("m = fill(nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), 2, norm=nn.LayerNorm(6)))", "m(wave(4, 2, 6))")
    yield from weighed("m = fill(nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0), 2))", "m(wave(4, 2, 6), wave(3, 2, 6))")
    yield f"m = fill(nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), 2)); m(wave(4, 2, 6), mask={hidden}, is_causal=true)"
    yield "nn.TransformerEncoderLayer(6, 2, activation=\"other\")"
    yield "m = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 3), 1); list(m.state_dict().keys())"


def small():
    for name in ["ReLU()", "ReLU6()", "SELU()", "SiLU()", "Mish()", "Tanh()", "Sigmoid()", "LogSigmoid()", "Hardsigmoid()", "Hardswish()",
                 "Softsign()", "Tanhshrink()", "GELU()", "GELU(approximate=\"tanh\")", "Softplus()", "Softplus(2.0, threshold=1.0)", "LeakyReLU()",
                 "LeakyReLU(0.5)", "ELU()", "ELU(alpha=2.0)", "CELU(2.0)", "Hardtanh()", "Hardtanh(-0.5, 0.25)", "Hardshrink()", "Hardshrink(0.25)",
                 "Softshrink(0.5)", "Threshold(0.1, 20.0)", "GLU()", "GLU(0)", "Softmax(dim=1)", "LogSoftmax(0)", "Softmin(dim=0)",
                 "Flatten()", "Unflatten(1, (2, 2))", "Identity()"]:
        yield f"nn.{name}(wave(2, 4) * 4)"
    x, y, t = "wave(3, 4)", "wave(4, 3).t()", "tensor([0, 3, 1])"
    signs = "where(wave(3, 4) > 0, 1.0, -1.0)"
    for call in [f"CrossEntropyLoss()({x}, {t})", f"CrossEntropyLoss(weight=wave(4), label_smoothing=0.1, reduction=\"sum\")({x}, {t})",
                 f"CrossEntropyLoss(ignore_index=3)({x}, {t})", f"NLLLoss(reduction=\"none\")({x}, {t})", f"MSELoss(reduction=\"sum\")({x}, {y})",
                 f"L1Loss()({x}, {y})", f"SmoothL1Loss(beta=0.5)({x}, {y})", f"HuberLoss(delta=0.5)({x}, {y})",
                 f"BCELoss()(sigmoid({x}), sigmoid({y}))", f"BCEWithLogitsLoss(pos_weight=wave(4) + 2)({x}, sigmoid({y}))",
                 f"KLDivLoss(reduction=\"batchmean\")({x}, softmax({y}, 1))", f"KLDivLoss(log_target=true, reduction=\"sum\")({x}, {y})",
                 f"PoissonNLLLoss(full=true)({x}, {y} + 2)", f"GaussianNLLLoss()({x}, {y}, {y} + 2)", f"HingeEmbeddingLoss(margin=0.5)({x}, {signs})",
                 f"MarginRankingLoss(margin=0.5)({x}, {y}, {signs})", f"TripletMarginLoss(swap=true)({x}, {y}, {x}.flip(0))",
                 f"CosineEmbeddingLoss(margin=0.1)({x}, {y}, tensor([1, -1, 1]))", f"SoftMarginLoss()({x}, {signs})",
                 f"MultiMarginLoss(p=2, weight=wave(4) + 2)({x}, {t})", f"MultiLabelSoftMarginLoss()({x}, sigmoid({y}))",
                 "CTCLoss(blank=3)(log_softmax(wave(5, 2, 4), 2), tensor([[1, 2], [0, 1]]), tensor([5, 4]), tensor([2, 2]))",
                 f"CosineSimilarity(dim=0)({x}, {y})", f"PairwiseDistance(p=1.0)({x}, {y})"]:
        yield f"nn.{call}"
    image = "wave(2, 4, 4, 6)"
    for call in [f"Upsample(scale_factor=2, mode=\"bilinear\")({image})", f"Upsample(size=(3, 3))({image})", f"PixelShuffle(2)({image})",
                 f"PixelUnshuffle(2)({image})", f"ChannelShuffle(2)({image})", f"ZeroPad2d(1)({image})", f"ZeroPad2d((1, 0, 2, 1))({image})",
                 f"ConstantPad2d(1, 3.5)({image})", f"ReflectionPad2d((1, 2, 0, 1))({image})", f"ReplicationPad2d(2)({image})",
                 f"Unfold((2, 3), stride=2)({image})", "Fold((3, 4), 2)(wave(1, 8, 6))", f"LocalResponseNorm(2)({image})",
                 f"InstanceNorm2d(4)({image})", f"InstanceNorm2d(4)({image}[0])", "InstanceNorm1d(4)(wave(2, 4, 6))",
                 f"Dropout2d().eval()({image})", f"Dropout1d().eval()({image}[0])", f"AlphaDropout().eval()({image})"]:
        yield f"nn.{call}"
    yield f"m = fill(nn.InstanceNorm2d(4, affine=true)); m({image})"
    yield from ["nn.PReLU()(wave(2, 4).to(f32))", "nn.PReLU(4, 0.5)(wave(2, 4).to(f32))", "m = fill(nn.PReLU(4)); m(wave(2, 4) * 4)"]
    yield f"m = fill(nn.InstanceNorm2d(4, track_running_stats=true)); y = m({image}); (y, m.running_mean, m.running_var, m.eval()({image}))"
    yield "nn.Sequential([nn.ReLU()])(wave(2))"


def optimizers():
    for name, options in [("SGD", ["lr=0.1", "lr=0.1, momentum=0.5, nesterov=true"]), ("Adam", ["lr=0.1", "lr=0.1, weight_decay=0.1"]),
                          ("AdamW", ["lr=0.1, weight_decay=0.1"]),
                          ("RMSprop", ["", "lr=0.05, alpha=0.5, eps=0.01", "lr=0.05, momentum=0.5, weight_decay=0.1", "lr=0.05, centered=true"]),
                          ("Adagrad", ["", "lr=0.5, lr_decay=0.5", "lr=0.5, weight_decay=0.1, initial_accumulator_value=2.0, eps=0.1"]),
                          ("Adadelta", ["", "lr=0.5, rho=0.5, eps=0.01, weight_decay=0.1"]),
                          ("NAdam", ["", "lr=0.1, betas=(0.5, 0.9), weight_decay=0.1, momentum_decay=0.1"]),
                          ("RAdam", ["", "lr=0.1, betas=(0.5, 0.75), weight_decay=0.1, eps=0.01"])]:
        for rest in options:
            yield f"descend(\"{name}\"{', ' if rest else ''}{rest})"
        yield f"descend(\"{name}\", lr=-1.0)"
    for name in ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam"]:
        yield f"descend(\"{name}\", lr=0.1, weight_decay=-1.0)"
    yield from ["descend(\"SGD\", lr=0.1, momentum=-0.5)", "descend(\"Adam\", lr=0.1, eps=-1.0)"]
    yield from ["descend(\"NAdam\", betas=(1.5, 0.9))", "descend(\"RAdam\", betas=(0.5, -1.0))", "descend(\"Adadelta\", rho=1.5)"]
    for rest in ["milestones=[2, 5, 5]", "milestones=[], gamma=0.5", "milestones=[1], gamma=2.0"]:
        yield f"anneal(\"multi_step_lr\", 7, {rest})"
    for rest in ["max_lr=2.0, total_steps=10", "max_lr=2.0, total_steps=8, pct_start=0.5, anneal_strategy=\"linear\", div_factor=4.0, final_div_factor=10.0",
                 "max_lr=2.0, total_steps=3", "max_lr=2.0, total_steps=10, pct_start=1.5", "max_lr=2.0, total_steps=10, anneal_strategy=\"other\""]:
        yield f"anneal(\"one_cycle_lr\", 7, {rest})"
    metrics = "[3.0, 2.0, 2.0, 1.9999, 1.5, 1.6, 1.7, 1.4, 1.4, 1.4, 1.4, 1.4, 1.4]"
    for rest in ["patience=0", "factor=0.5, patience=1, cooldown=2", "mode=\"max\", patience=2, factor=0.5", "patience=1, threshold=0.5",
                 "patience=1, threshold=0.5, threshold_mode=\"abs\"", "mode=\"max\", patience=1, threshold=0.5, threshold_mode=\"abs\", min_lr=0.2",
                 "patience=0, min_lr=0.1, eps=0.3", "factor=1.0", "mode=\"other\"", "threshold_mode=\"other\""]:
        yield f"anneal(\"ReduceLROnPlateau\", {metrics}, {rest})"
