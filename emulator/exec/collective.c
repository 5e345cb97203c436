/* Instructions that lanes do together: shfl, vote, match, redux, elect, bar.warp.sync, activemask. Lanes name in a mask
 * whom they wait for; lanes at the same instruction may form several groups with masks of their own. */
#include "check/check.h"
#include "exec/lanes.h"
#include "exec/numbers.h"

/* flags: the mask is an immediate with all lanes. */
enum { EVERYBODY = 1 };

/* ---- groups ------------------------------------------------------------------------------------------------------ */
typedef struct group {
    emu_mask named; /* as the mask says */
    emu_mask lanes; /* of them that are here */
} group;

static emu_mask alive(const emu_warp *warp, emu_mask lanes) { return lanes & warp->lanes & ~warp->exited; }

/* Lanes here by the mask they give. Returns how many groups. */
static int groups_of(const emu_warp *warp, const emu_op *op, emu_mask here, group list[EMU_LANES]) {
    const uint32_t *members = emu_u32(warp, op->operand[EMU_MEMBERS]);
    int n = 0;
    while (here) {
        emu_mask named = members[__builtin_ctz(here)], same = 0;
        for (emu_mask rest = here; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            if (members[lane] == named) same |= 1u << lane;
        }
        list[n++] = (group){.named = named, .lanes = same};
        here &= ~same;
    }
    return n;
}

static bool complete(const emu_warp *warp, const group *g) { return !(alive(warp, g->named) & ~g->lanes); }

bool emu_members_ready(const emu_warp *warp, const emu_op *op, emu_mask here) {
    group list[EMU_LANES];
    for (int i = groups_of(warp, op, here, list) - 1; i >= 0; i--)
        if (complete(warp, list + i)) return true;
    return false;
}

emu_mask emu_members_missing(const emu_warp *warp, const emu_op *op, emu_mask here) {
    group list[EMU_LANES];
    emu_mask missing = 0;
    for (int i = groups_of(warp, op, here, list) - 1; i >= 0; i--)
        missing |= alive(warp, list[i].named) & ~list[i].lanes;
    return missing;
}

/* Lanes that give a mask without themselves do what PTX leaves undefined. */
static void check_named(emu_warp *warp, const emu_op *op, const group *g) {
    emu_mask stray = g->lanes & ~g->named;
    if (stray)
        emu_find(warp, op, __builtin_ctz(stray), EMU_PROTOCOL, g->named,
                 "lanes 0x%08x take part with the member mask 0x%08x", stray, g->named);
}

/* Groups that can go on, at the front of the list; *n of them. EMU_AGAIN: the others stay behind, parked. */
static emu_result gather(emu_warp *warp, const emu_op *op, emu_mask mask, group list[EMU_LANES], int *n) {
    if (mask == UINT32_MAX && op->flags & EVERYBODY) { /* the usual case */
        list[0] = (group){.named = UINT32_MAX, .lanes = UINT32_MAX};
        return *n = 1, EMU_NEXT;
    }
    bool anyway = emu_is_forced(warp->current);
    emu_mask waiting = 0;
    int all = groups_of(warp, op, mask, list);
    *n = 0;
    for (int i = 0; i < all; i++) {
        if (!anyway && !complete(warp, list + i)) {
            waiting |= list[i].lanes;
            continue;
        }
        check_named(warp, op, list + i);
        list[(*n)++] = list[i];
    }
    if (!waiting) return EMU_NEXT;
    emu_park(warp, waiting, op);
    return EMU_AGAIN;
}

static emu_mask lanes_of(const group *list, int n) {
    emu_mask lanes = 0;
    for (int i = 0; i < n; i++) lanes |= list[i].lanes;
    return lanes;
}

/* ---- shfl -------------------------------------------------------------------------------------------------------- */
enum { UP, DOWN, BFLY, IDX };

/* The lane to read from, or the lane itself; *in_range: it is in the segment. */
static inline uint32_t source_lane(uint32_t way, uint32_t lane, uint32_t b, uint32_t c, bool *in_range) {
    uint32_t segment = c >> 8 & 31, clamp = c & 31, by = b & 31;
    uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment, from;
    switch (way) {
        case UP: from = lane - by, *in_range = (int32_t)from >= (int32_t)last; break;
        case DOWN: from = lane + by, *in_range = from <= last; break;
        case BFLY: from = lane ^ by, *in_range = from <= last; break;
        default: from = first | (by & ~segment), *in_range = from <= last; break;
    }
    return *in_range ? from & 31 : lane;
}

/* b and c are immediates: what each lane reads is known. */
typedef struct fixed_shuffle {
    uint32_t from[EMU_LANES];
    emu_mask inside;
} fixed_shuffle;

EMU_LANEWISE static emu_result run_fixed_shfl(emu_warp *warp, const emu_op *op, emu_mask mask) {
    group list[EMU_LANES];
    int n;
    emu_result result = gather(warp, op, mask, list, &n);
    mask = n == 1 ? list[0].lanes : lanes_of(list, n);
    const fixed_shuffle *fixed = op->detail;
    uint32_t out[EMU_LANES], *d = emu_u32(warp, op->operand[0]);
    const uint32_t *a = emu_u32(warp, op->operand[2]);
    for (int lane = 0; lane < EMU_LANES; lane++) out[lane] = a[fixed->from[lane]];
    EMU_FOR_LANES(uint32_t, d, mask, (void)0, out[lane])
    if (op->operand[1].at != EMU_NOWHERE) emu_set_pred(warp, op->operand[1], mask, fixed->inside);
    return result;
}

static emu_result run_shfl(emu_warp *warp, const emu_op *op, emu_mask mask) {
    group list[EMU_LANES];
    int n;
    emu_result result = gather(warp, op, mask, list, &n);
    mask = lanes_of(list, n);
    uint32_t out[EMU_LANES], *d = emu_u32(warp, op->operand[0]);
    const uint32_t *a = emu_u32(warp, op->operand[2]), *b = emu_u32(warp, op->operand[3]),
                   *c = emu_u32(warp, op->operand[4]);
    emu_mask inside = 0;
    for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
        bool in_range;
        out[lane] = a[source_lane(op->kind, lane, b[lane], c[lane], &in_range)];
        inside |= (emu_mask)in_range << lane;
    }
    for (int lane = 0; lane < EMU_LANES; lane++) d[lane] = mask >> lane & 1 ? out[lane] : d[lane];
    if (op->operand[1].at != EMU_NOWHERE) emu_set_pred(warp, op->operand[1], mask, inside);
    return result;
}

/* d or d|p. */
static bool decode_pair(emu_decoding *d, ptx_type type) {
    const ptx_operand *operand = d->instruction->operand;
    if (operand->kind != PTX_PAIR) return emu_exact_destination(d, operand, type, d->op->operand);
    return emu_exact_destination(d, operand->parts, type, d->op->operand) &&
           emu_exact_destination(d, operand->parts + 1, PTX_PRED, d->op->operand + 1);
}

/* The sources follow at operand 2, the members' mask is the last. */
static bool decode_sources(emu_decoding *d, emu_run *run, ptx_type type, int n) {
    const ptx_operand *operand = d->instruction->operand;
    if (!ptx_words_end(&d->words))
        return emu_decode_fail(d, "a qualifier that %s does not have", d->instruction->word[0]);
    if (d->instruction->n_operands != n + 2) return emu_decode_fail(d, "%d operands are due", n + 2);
    d->op->run = run;
    for (int k = 0; k < n; k++)
        if (!emu_exact_source(d, operand + 1 + k, k ? PTX_B32 : type, d->op->operand + 2 + k)) return false;
    const ptx_operand *members = operand + 1 + n;
    d->op->flags = members->kind == PTX_INTEGER && (uint32_t)members->bits == UINT32_MAX ? EVERYBODY : 0;
    return emu_exact_source(d, members, PTX_B32, d->op->operand + EMU_MEMBERS);
}

static bool decode_shfl(emu_decoding *d) {
    static const char *const ways[] = {"up", "down", "bfly", "idx", NULL};
    bool sync = ptx_take(&d->words, "sync");
    int way = ptx_take_of(&d->words, ways, -1);
    if (!sync || way < 0 || !ptx_take(&d->words, "b32")) return emu_decode_fail(d, "shfl.sync.{up,down,bfly,idx}.b32");
    d->op->kind = (uint8_t)way;
    if (!decode_sources(d, run_shfl, PTX_B32, 3) || !decode_pair(d, PTX_B32)) return false;
    const ptx_operand *b = d->instruction->operand + 2, *c = b + 1;
    if (b->kind != PTX_INTEGER || c->kind != PTX_INTEGER) return true;
    fixed_shuffle *fixed = emu_decode_alloc(d, sizeof *fixed);
    for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
        bool in_range;
        fixed->from[lane] = source_lane(d->op->kind, lane, (uint32_t)b->bits, (uint32_t)c->bits, &in_range);
        fixed->inside |= (emu_mask)in_range << lane;
    }
    d->op->run = run_fixed_shfl;
    d->op->detail = fixed;
    return true;
}

/* ---- vote -------------------------------------------------------------------------------------------------------- */
enum { ALL, ANY, UNI, BALLOT };

static emu_result run_vote(emu_warp *warp, const emu_op *op, emu_mask mask) {
    group list[EMU_LANES];
    int n;
    emu_result result = gather(warp, op, mask, list, &n);
    emu_mask a = emu_pred(warp, op->operand[2]);
    for (int i = 0; i < n; i++) {
        emu_mask lanes = list[i].lanes, yes = a & lanes;
        bool answer = op->kind == ALL ? yes == lanes : op->kind == ANY ? yes != 0 : yes == lanes || !yes;
        if (op->kind != BALLOT) {
            emu_set_pred(warp, op->operand[0], lanes, answer ? UINT32_MAX : 0);
            continue;
        }
        uint32_t *d = emu_u32(warp, op->operand[0]);
        for (int lane = 0; lane < EMU_LANES; lane++) d[lane] = lanes >> lane & 1 ? yes : d[lane];
    }
    return result;
}

static bool decode_vote(emu_decoding *d) {
    static const char *const ways[] = {"all", "any", "uni", "ballot", NULL};
    bool sync = ptx_take(&d->words, "sync");
    int way = ptx_take_of(&d->words, ways, -1);
    if (!sync || way < 0 || !ptx_take(&d->words, way == BALLOT ? "b32" : "pred"))
        return emu_decode_fail(d, "vote.sync.{all,any,uni}.pred or vote.sync.ballot.b32");
    d->op->kind = (uint8_t)way;
    return decode_sources(d, run_vote, PTX_PRED, 1) && decode_pair(d, way == BALLOT ? PTX_B32 : PTX_PRED);
}

/* ---- match ------------------------------------------------------------------------------------------------------- */
static emu_result run_match(emu_warp *warp, const emu_op *op, emu_mask mask) {
    group list[EMU_LANES];
    int n;
    emu_result result = gather(warp, op, mask, list, &n);
    uint64_t a[EMU_LANES], out[EMU_LANES] = {0};
    emu_lanes_read(warp, op->operand[2], a);
    for (int i = 0; i < n; i++) {
        emu_mask lanes = list[i].lanes;
        for (emu_mask rest = lanes; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            for (emu_mask other = lanes; other; other &= other - 1)
                if (a[__builtin_ctz(other)] == a[lane]) out[lane] |= 1u << __builtin_ctz(other);
        }
        if (op->kind != ALL) continue;
        bool same = out[__builtin_ctz(lanes)] == lanes;
        for (int lane = 0; lane < EMU_LANES; lane++)
            if (lanes >> lane & 1) out[lane] = same ? lanes : 0;
        if (op->operand[1].at != EMU_NOWHERE) emu_set_pred(warp, op->operand[1], lanes, same ? UINT32_MAX : 0);
    }
    emu_lanes_write(warp, op->operand[0], lanes_of(list, n), out);
    return result;
}

static bool decode_match(emu_decoding *d) {
    static const char *const ways[] = {"all", "any", NULL};
    int way = ptx_take_of(&d->words, ways, -1);
    bool sync = ptx_take(&d->words, "sync");
    ptx_type type = ptx_take_type(&d->words);
    if (!sync || way < 0 || (type != PTX_B32 && type != PTX_B64))
        return emu_decode_fail(d, "match.{all,any}.sync.{b32,b64}");
    d->op->kind = (uint8_t)way;
    return decode_sources(d, run_match, type, 1) && decode_pair(d, PTX_B32);
}

/* ---- redux ------------------------------------------------------------------------------------------------------- */
enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };

static uint32_t reduced(int how, bool is_signed, uint32_t x, uint32_t y) {
    bool less = is_signed ? (int32_t)x < (int32_t)y : x < y;
    switch (how) {
        case REDUX_ADD: return x + y;
        case REDUX_MIN: return less ? x : y;
        case REDUX_MAX: return less ? y : x;
        case REDUX_AND: return x & y;
        case REDUX_OR: return x | y;
        default: return x ^ y;
    }
}

/* Of f32: flags ABSOLUTE, NAN_WINS. */
enum { ABSOLUTE = 2, NAN_WINS = 4 };
static uint32_t reduced_f32(int how, uint32_t flags, uint32_t x, uint32_t y) {
    const float a = f32_of(x), b = f32_of(y);
    if (flags & NAN_WINS && (a != a || b != b)) return 0x7fffffffu;
    return f32_bits(how == REDUX_MIN ? f32_min(a, b) : f32_max(a, b));
}

static emu_result run_redux(emu_warp *warp, const emu_op *op, emu_mask mask) {
    group list[EMU_LANES];
    int n;
    emu_result result = gather(warp, op, mask, list, &n);
    const uint32_t *a = emu_u32(warp, op->operand[2]);
    uint32_t *d = emu_u32(warp, op->operand[0]);
    for (int i = 0; i < n; i++) {
        emu_mask lanes = list[i].lanes;
        const uint32_t keep = op->type == PTX_F32 && op->flags & ABSOLUTE ? 0x7fffffffu : UINT32_MAX;
        uint32_t value = a[__builtin_ctz(lanes)] & keep;
        for (emu_mask rest = op->type == PTX_F32 ? lanes : lanes & (lanes - 1); rest; rest &= rest - 1) {
            const uint32_t other = a[__builtin_ctz(rest)] & keep;
            value = op->type == PTX_F32 ? reduced_f32(op->kind, op->flags, value, other)
                                        : reduced(op->kind, op->type == PTX_S32, value, other);
        }
        for (int lane = 0; lane < EMU_LANES; lane++) d[lane] = lanes >> lane & 1 ? value : d[lane];
    }
    return result;
}

static bool decode_redux(emu_decoding *d) {
    static const char *const ways[] = {"add", "min", "max", "and", "or", "xor", NULL};
    bool sync = ptx_take(&d->words, "sync");
    int way = ptx_take_of(&d->words, ways, -1);
    uint8_t flags = ptx_take(&d->words, "abs") ? ABSOLUTE : 0;
    if (ptx_take(&d->words, "NaN")) flags |= NAN_WINS;
    ptx_type type = ptx_take_type(&d->words);
    bool known = way >= REDUX_AND ? type == PTX_B32 : type == PTX_U32 || type == PTX_S32;
    if (type == PTX_F32) known = way == REDUX_MIN || way == REDUX_MAX;
    if (type != PTX_F32 && flags) known = false;
    if (type == PTX_F32 && emu_options_get()->architecture < 100)
        return emu_decode_fail(d, "the device is an sm_90a: EMULATOR_ARCHITECTURE=100 makes it an sm_100a");
    if (!sync || way < 0 || !known)
        return emu_decode_fail(
            d, "redux.sync.{add,min,max}.{u32,s32}, redux.sync.{and,or,xor}.b32 or redux.sync.{min,max}.f32");
    d->op->kind = (uint8_t)way;
    d->op->type = (uint8_t)type;
    if (!decode_sources(d, run_redux, type, 1)) return false;
    d->op->flags |= flags;
    return decode_pair(d, type);
}

/* ---- elect, bar.warp.sync, activemask ---------------------------------------------------------------------------- */
static emu_result run_elect(emu_warp *warp, const emu_op *op, emu_mask mask) {
    group list[EMU_LANES];
    int n;
    emu_result result = gather(warp, op, mask, list, &n);
    uint64_t leader[EMU_LANES] = {0};
    for (int i = 0; i < n; i++) {
        emu_mask lanes = list[i].lanes, first = lanes & -lanes;
        for (int lane = 0; lane < EMU_LANES; lane++)
            if (lanes >> lane & 1) leader[lane] = (uint64_t)__builtin_ctz(lanes);
        if (op->operand[1].at != EMU_NOWHERE) emu_set_pred(warp, op->operand[1], lanes, first);
    }
    emu_lanes_write(warp, op->operand[0], lanes_of(list, n), leader);
    return result;
}

static bool decode_elect(emu_decoding *d) {
    if (!ptx_take(&d->words, "sync")) return emu_decode_fail(d, "elect.sync d|p, members");
    return decode_sources(d, run_elect, PTX_NONE, 0) && decode_pair(d, PTX_B32);
}

emu_result emu_run_warp_barrier(emu_warp *warp, const emu_op *op, emu_mask mask) {
    group list[EMU_LANES];
    int n;
    emu_result result = gather(warp, op, mask, list, &n);
    for (int i = 0; i < n; i++) emu_warp_synchronized(warp, list[i].named);
    return result;
}

static bool decode_warp_barrier(emu_decoding *d) {
    if (!ptx_take(&d->words, "warp")) return emu_decline(d);
    if (!ptx_take(&d->words, "sync") || !ptx_words_end(&d->words) || d->instruction->n_operands != 1)
        return emu_decode_fail(d, "bar.warp.sync members");
    d->op->run = emu_run_warp_barrier;
    return emu_exact_source(d, d->instruction->operand, PTX_B32, d->op->operand + EMU_MEMBERS);
}

static emu_result run_activemask(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint32_t *d = emu_u32(warp, op->operand[0]);
    for (int lane = 0; lane < EMU_LANES; lane++) d[lane] = mask >> lane & 1 ? mask : d[lane];
    return EMU_NEXT;
}

static bool decode_activemask(emu_decoding *d) {
    if (!ptx_take(&d->words, "b32")) return emu_decode_fail(d, "activemask.b32");
    return emu_decode_same(d, run_activemask, 1, PTX_B32);
}

extern const emu_mnemonic emu_mnemonics_collective[];
const emu_mnemonic emu_mnemonics_collective[] = {
    {"shfl", decode_shfl},
    {"vote", decode_vote},
    {"match", decode_match},
    {"redux", decode_redux},
    {"elect", decode_elect},
    {"bar", decode_warp_barrier},
    {"barrier", decode_warp_barrier},
    {"activemask", decode_activemask},
    {NULL, NULL},
};
