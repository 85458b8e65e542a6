"""Instructions of PTX that threads of a block or lanes of a warp do together, each as a statement of C++."""
from operands import identifier, put, value

FOLDS = {"and": "kFakeAll", "or": "kFakeAny", "popc": "kFakeCount"}
REDUCTIONS = {"add": "kFakeSum", "min": "kFakeLeast", "max": "kFakeMost", "and": "kFakeAnd", "or": "kFakeOr", "xor": "kFakeXor"}


def barrier(i):
    """Of all threads of a block, which is the barrier 0, or of the lanes of a mask."""
    modifiers = [m for m in i.modifiers if m not in ("cta", "aligned")]
    if modifiers == ["warp", "sync"]:
        return f"kiln_fake_together(kFakeSync, {value(i, i.operands[0], 'u32')}, 0u, 0, {i.line});"
    if modifiers == ["sync"] and i.operands == ["0"]:
        return f"at_barrier({i.line}, kFakeNoFold, false);"
    if modifiers[:1] != ["red"] or len(modifiers) != 3 or modifiers[1] not in FOLDS or i.operands[1:-1] != ["0"]:
        i.fail()
    return i.put(f"at_barrier({i.line}, {FOLDS[modifiers[1]]}, {value(i, i.operands[-1], 'pred')})")


def shuffle(i):
    """`shfl.sync.down.b32 value|is_within, of, by, parts, mask`"""
    if len(i.modifiers) != 3 or i.modifiers[0] != "sync" or i.modifiers[1] not in ("up", "down", "bfly", "idx") or i.kind != "b32":
        i.fail()
    register, _, predicate = i.operands[0].partition("|")
    by, parts, mask = (value(i, operand, "u32") for operand in i.operands[2:])
    call = f"shuffled('{i.modifiers[1][0]}', {i.value(1)}, {by}, {parts}, {mask}, is_within, {i.line})"
    told = f" {identifier(predicate)} = is_within;" if predicate else ""
    return f"{{ bool is_within; {put(register, call, i.kind)}{told} }}"


def vote(i):
    i.must_be("sync.ballot.b32", "sync.any.pred", "sync.all.pred")
    mask, form = value(i, i.operands[2], "u32"), i.modifiers[1]
    holds = value(i, i.operands[1], "pred")
    if form == "all":
        return i.put(f"ballot({mask}, !({holds}), {i.line}) == 0")
    return i.put(f"ballot({mask}, {holds}, {i.line}){' != 0' if form == 'any' else ''}")


def match(i):
    i.must_be(*(f"{form}.sync.{kind}" for form in ("any", "all") for kind in ("b32", "b64")))
    register, _, predicate = i.operands[0].partition("|")
    kind = "kFakeMatchAny" if i.modifiers[0] == "any" else "kFakeMatchAll"
    call = f"matched({kind}, {value(i, i.operands[2], 'u32')}, {i.value(1)}, {i.line})"
    told = f" {identifier(predicate)} = equal != 0;" if predicate else ""
    return f"{{ const u32 equal = {call}; {put(register, 'equal', 'u32')}{told} }}"


def reduce(i):
    if len(i.modifiers) != 3 or i.modifiers[0] != "sync" or i.modifiers[1] not in REDUCTIONS:
        i.fail()
    return i.put(f"reduced({REDUCTIONS[i.modifiers[1]]}, {value(i, i.operands[2], 'u32')}, {i.value(1)}, {i.line})")


def trap(i):
    i.must_be("")
    return f"trap({i.line});"


def sleep(i):
    i.must_be("u32")
    return ";"


HANDLERS = {"bar": barrier, "barrier": barrier, "shfl": shuffle, "vote": vote, "match": match, "redux": reduce, "trap": trap,
            "nanosleep": sleep}
