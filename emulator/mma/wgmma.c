/* wgmma: mma_async, fence, commit_group, wait_group as a warp executes them, and their decoders. */
#include <stdio.h>
#include <string.h>

#include "mma/decode.h"
#include "mma/products.h"

static emu_run run_product;

/* ---- registers in flight --------------------------------------------------------------------------------- */
static emu_use *use_of(const struct emu_products *products, emu_operand operand) {
    return &products->use[operand.at / 64];
}

bool emu_products_pending(const emu_warp *warp) { return warp->products->fences > 0; }

static bool product_done(const emu_warp *warp, const emu_wait *wait) {
    return warp->products->group->done >= wait->value;
}

static void describe_wait(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    const emu_product *product = warp->products->group->first;
    unsigned missing = product ? ~product->arrived & 15 : 0;
    char who[60] = "";
    if (missing)
        snprintf(who, sizeof who, ", to which warp %u has not come",
                 warp->index / EMU_WARPGROUP * EMU_WARPGROUP + (unsigned)__builtin_ctz(missing));
    snprintf(text, bytes, "waits for wgmma number %llu of its warpgroup%s", (unsigned long long)wait->value, who);
}

/* False: the warp must try again when this product is done. */
static bool wait_for(emu_warp *warp, uint64_t number) {
    if (warp->products->group->done >= number) return true;
    warp->current->wait =
        (emu_wait){.ready = product_done, .describe = describe_wait, .object = warp->products->group, .value = number};
    return false;
}

static bool is_place(emu_operand operand) { return !(operand.at & EMU_CONSTANT) && operand.bytes != 0; }
static bool is_register(const emu_touch *touch) { return is_place(touch->operand); }

static void pending(emu_warp *warp, const emu_op *op, emu_mask mask, const emu_touch *touch, const char *does) {
    emu_find(warp, op, mask ? __builtin_ctz(mask) : -1, EMU_PENDING_REGISTER, touch->operand.at,
             "%s which nobody waited for", does);
}

static void check_written(emu_warp *warp, const emu_op *op, emu_mask mask, const emu_touch *touch) {
    const emu_use *use = use_of(warp->products, touch->operand);
    if (use->written > warp->products->known)
        pending(warp, op, mask, touch, "writes a register that a wgmma writes");
    else if (use->read > warp->products->known)
        pending(warp, op, mask, touch, "writes a register that a wgmma reads");
}

static uint32_t later(uint32_t x, uint32_t y) { return x > y ? x : y; }

/* A copy takes over what is known of its source. */
static bool check_copy(emu_warp *warp, const emu_op *op, emu_mask mask, const emu_touch *touch, int n) {
    struct emu_products *products = warp->products;
    emu_use source = {0};
    for (int i = 0; i < n; i++) {
        if (touch[i].written || !is_register(&touch[i])) continue;
        const emu_use *use = use_of(products, touch[i].operand);
        source.copied = later(source.copied, later(use->written, use->copied));
        source.fence = later(source.fence, use->fence);
    }
    if (source.copied > products->known && !wait_for(warp, source.copied)) return false;
    for (int i = 0; i < n; i++)
        if (touch[i].written && is_register(&touch[i])) {
            check_written(warp, op, mask, &touch[i]);
            use_of(products, touch[i].operand)->copied = source.copied;
            use_of(products, touch[i].operand)->fence = source.fence;
        }
    return true;
}

bool emu_products_check(emu_warp *warp, const emu_op *op, emu_mask mask) {
    if (op->source == NULL || op->run == run_product) return true;
    int n;
    const emu_touch *touch = emu_op_touches(warp->code, op, &n);
    if (strcmp(op->source->word[0], "mov") == 0) return check_copy(warp, op, mask, touch, n);
    for (int i = 0; i < n; i++) {
        if (!is_register(&touch[i])) continue;
        emu_use *use = use_of(warp->products, touch[i].operand);
        if (touch[i].written) {
            check_written(warp, op, mask, &touch[i]);
            use->copied = 0;
            use->fence = (uint32_t)warp->products->fences + 1;
        } else if (later(use->written, use->copied) > warp->products->known) {
            pending(warp, op, mask, &touch[i], "reads a register that a wgmma writes");
        }
    }
    return true;
}

static void check_fenced(emu_warp *warp, const emu_op *op, const emu_use *use, const char *what) {
    if (use->fence == warp->products->fences + 1)
        emu_find(warp, op, -1, EMU_PROTOCOL, 1, "%s were written after the last wgmma.fence", what);
}

/* The product's registers: those it reads must be at rest, accumulators may be those of a product before it. */
static void mark_registers(emu_warp *warp, const emu_op *op, const emu_product *product) {
    struct emu_products *products = warp->products;
    const emu_wgmma *what = product->what;
    const uint32_t number = (uint32_t)product->number;
    if (products->fences == 0)
        emu_find(warp, op, -1, EMU_PROTOCOL, 0, "no wgmma.fence before the first wgmma.mma_async");
    for (int i = 0; i < 4 && what->a_in_registers; i++) {
        emu_use *use = use_of(products, what->a[i]);
        check_fenced(warp, op, use, "registers of a");
        if (use->written > products->known)
            emu_find(warp, op, -1, EMU_PENDING_REGISTER, what->a[i].at,
                     "a is in registers that a wgmma writes which was not waited for");
        use->read = number;
    }
    if (what->sparse && is_place(what->metadata)) {
        emu_use *use = use_of(products, what->metadata);
        check_fenced(warp, op, use, "metadata");
        if (use->written > products->known)
            emu_find(warp, op, -1, EMU_PENDING_REGISTER, what->metadata.at,
                     "metadata is in a register that a wgmma writes which was not waited for");
        use->read = number;
    }
    for (int i = 0; i < what->sums; i++) {
        emu_use *use = use_of(products, what->d[i]);
        if (product->add) check_fenced(warp, op, use, "accumulators");
        if (use->read > products->known && use->read != number)
            emu_find(warp, op, -1, EMU_PENDING_REGISTER, what->d[i].at,
                     "accumulates in registers of a wgmma's a which was not waited for");
        use->written = number;
    }
}

/* ---- mma_async ------------------------------------------------------------------------------------------- */
/* The value of all lanes, which must be the same. */
static uint64_t uniform(emu_warp *warp, const emu_op *op, emu_operand operand, emu_mask mask, const char *what) {
    const uint64_t *lanes = emu_u64(warp, operand);
    const int first = __builtin_ctz(mask);
    emu_mask differ = 0;
    for (int lane = 0; lane < EMU_LANES; lane++) differ |= (emu_mask)(lanes[lane] != lanes[first]) << lane;
    if (differ & mask)
        emu_find(warp, op, __builtin_ctz(differ & mask), EMU_DESCRIPTOR, operand.at,
                 "%s differs between lanes %d and %d", what, first, __builtin_ctz(differ & mask));
    return lanes[first];
}

/* wide: k is 64 bytes long. How it would leave a line of 32 bytes is not documented. */
static void check_descriptor(emu_warp *warp, const emu_op *op, uint64_t bits, bool wide, const char *what) {
    emu_descriptor descriptor;
    const char *why = emu_descriptor_read(bits, &descriptor);
    if (why == NULL && wide && descriptor.line == 32) why = "64 bytes of k do not fit lines of 32 bytes";
    if (why)
        emu_find(warp, op, -1, EMU_DESCRIPTOR, bits, "the descriptor of %s, 0x%016llx: %s", what,
                 (unsigned long long)bits, why);
}

/* Which elements of its 16 rows this warp's metadata keeps. Two bits are the place of an element among four, four bits those of
 * a pair, the lower ones first. g = lane / 4, t = lane % 4:
 *
 *   16 bits   t = 2 selector + h has k 16 h …, of row g in its low half and of row g + 8 in its high half
 *   8 bits    t = 2 h + e has k 32 h … of row g + 8 e */
static void join_metadata(emu_warp *warp, const emu_op *op, emu_product *product) {
    const emu_wgmma *what = product->what;
    const uint32_t *words = emu_u32(warp, what->metadata);
    const bool wide = ptx_type_bytes[what->dot->a] == 2;
    uint8_t(*kept)[EMU_LINE] = product->kept + warp->index % EMU_WARPGROUP * 16;
    for (int lane = 0; lane < EMU_LANES; lane++) {
        const int t = lane % 4, half = wide ? t % 2 : t / 2;
        if (wide && t / 2 != what->selector) continue;
        for (int i = 0; i < 8; i++) {
            const uint32_t pair = words[lane] >> 4 * i & 15, low = pair & 3, high = pair >> 2;
            const int row = lane / 4 + 8 * (wide ? i / 4 : t % 2), group = wide ? 4 * half + i % 4 : 8 * half + i;
            if (low >= high)
                emu_find(warp, op, lane, EMU_DESCRIPTOR, words[lane],
                         "metadata 0x%08x keeps elements %u and %u of four, which must ascend", words[lane], low, high);
            kept[row][2 * group] = (uint8_t)(4 * group + (int)low);
            kept[row][2 * group + 1] = (uint8_t)(4 * group + (int)high);
        }
    }
}

/* Operands as this warp has them, into a product that is new, or against those of the warps that came before. */
static void join_operands(emu_warp *warp, const emu_op *op, emu_mask mask, emu_product *product) {
    const emu_wgmma *what = product->what;
    const uint64_t a = what->a_in_registers ? 0 : uniform(warp, op, what->a[0], mask, "the descriptor of a");
    const uint64_t b = uniform(warp, op, what->b, mask, "the descriptor of b");
    const emu_mask set = emu_pred(warp, what->scale_d) & mask;
    if (set && set != mask) emu_find(warp, op, -1, EMU_DESCRIPTOR, 1, "scale-d differs between lanes");
    if (product->arrived == 0) {
        product->a = a;
        product->b = b;
        product->add = set != 0;
        if (!what->a_in_registers) check_descriptor(warp, op, a, false, "a");
        check_descriptor(warp, op, b, what->sparse && !what->trans_b, "b");
    } else if (product->a != a || product->b != b || product->add != (set != 0)) {
        emu_find(warp, op, -1, EMU_DESCRIPTOR, 2, "descriptors or scale-d differ between the warps of the warpgroup");
    }
    if (what->sparse) join_metadata(warp, op, product);
    if (what->a_in_registers)
        emu_fragment_lines(warp, what->a, 16, 32, product->line + warp->index % EMU_WARPGROUP * 16);
}

static emu_result run_product(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_product *product = emu_product_next(warp, op);
    if (product == NULL) return EMU_ABORT;
    struct emu_products *products = warp->products;
    if (product->op != op) {
        char other[200];
        ptx_location_text(emu_op_function(warp->code, product->op), product->op->source, other, sizeof other);
        emu_find(warp, op, -1, EMU_PROTOCOL, 2,
                 "another warp of the warpgroup executes another wgmma as its number %llu, at %s",
                 (unsigned long long)product->number, other);
        return EMU_ABORT;
    }
    mark_registers(warp, op, product);
    join_operands(warp, op, mask, product);
    emu_actor actor;
    emu_actor_of_group(warp, op, -1, EMU_STREAM_WGMMA, products->groups, EMU_PROXY_ASYNC, &actor);
    const uint32_t before = (uint32_t)__builtin_popcount(product->arrived);
    if (before == product->chosen)
        product->operation.actor = actor;
    else
        emu_actor_end(&actor);
    products->issued++;
    product->arrived |= 1u << warp->index % EMU_WARPGROUP;
    if (before + 1 == EMU_WARPGROUP) emu_product_start(product, warp);
    return EMU_NEXT;
}

/* ---- fence, commit_group, wait_group --------------------------------------------------------------------- */
static emu_result run_fence(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    emu_products_of(warp)->fences++;
    return EMU_NEXT;
}

static emu_result run_commit(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    struct emu_products *products = emu_products_of(warp);
    products->end[products->groups++ % EMU_GROUP_ENDS] = products->issued;
    return EMU_NEXT;
}

static emu_result run_wait(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)mask;
    struct emu_products *products = emu_products_of(warp);
    const uint64_t left = (uint64_t)op->value;
    if (products->groups <= left || left >= EMU_GROUP_ENDS) return EMU_NEXT;
    const uint64_t group = products->groups - left - 1, end = products->end[group % EMU_GROUP_ENDS];
    if (end > products->known && !wait_for(warp, end)) return EMU_AGAIN;
    if (end > products->known) products->known = end;
    emu_acquire_group(warp, EMU_STREAM_WGMMA, group);
    return EMU_NEXT;
}

/* ---- decoders -------------------------------------------------------------------------------------------- */
static bool immediate(emu_decoding *d, int k, int64_t *value) {
    if (k >= d->instruction->n_operands || d->instruction->operand[k].kind != PTX_INTEGER)
        return emu_decode_fail(d, "operand %d must be an integer constant", k + 1);
    *value = (int64_t)d->instruction->operand[k].bits;
    return true;
}

/* imm-scale (1 or -1) or imm-trans (0 or 1): operand k */
static bool choice(emu_decoding *d, int k, int64_t no, int64_t yes, bool *chosen) {
    int64_t value = 0;
    if (!immediate(d, k, &value)) return false;
    if (value != no && value != yes) return emu_decode_fail(d, "operand %d is %lld", k + 1, (long long)value);
    *chosen = value == yes;
    return true;
}

static bool product_types(emu_decoding *d, emu_wgmma *what, const emu_shape *shape) {
    ptx_type sum = ptx_take_type(&d->words), a = ptx_take_type(&d->words), b = ptx_take_type(&d->words);
    if (!emu_mma_end(d)) return false;
    what->dot = a == PTX_NONE || b == PTX_NONE ? NULL : emu_dot_find(90, true, a, b, sum);
    if (what->dot == NULL) return emu_decode_fail(d, "these types are not supported together");
    if (what->sparse && a == PTX_TF32) return emu_decode_fail(d, "sparse products of tf32 are not supported");
    const bool integer = what->dot->kind == EMU_DOT_INTEGER;
    const bool n_known =
        shape->n % 8 == 0 && shape->n > 0 && shape->n <= 256 && (!integer || shape->n % 16 == 0 || shape->n <= 24);
    if (shape->m != 64 || !n_known || shape->k * ptx_type_bytes[a] != (what->sparse ? 64 : 32))
        return emu_decode_fail(d, "m%dn%dk%d is no shape of these types", shape->m, shape->n, shape->k);
    if (what->saturate && !integer) return emu_decode_fail(d, ".satfinite is of integers");
    what->n = shape->n;
    what->k = shape->k;
    what->sums = sum == PTX_F16 ? shape->n / 4 : shape->n / 2;
    return true;
}

/* Of 8 bits all lanes have metadata, and the selector must be 0. */
static bool sparse_operands(emu_decoding *d, emu_wgmma *what, bool wide) {
    int64_t selector = 0;
    if (!emu_mma_sources(d, 3, PTX_B32, 1, &what->metadata) || !immediate(d, 4, &selector)) return false;
    what->selector = (int)selector;
    if (selector == 0 || (wide && selector == 1)) return true;
    return emu_decode_fail(d, "the sparsity selector is %lld", (long long)selector);
}

static bool product_operands(emu_decoding *d, emu_wgmma *what) {
    const ptx_type sum = what->dot->accumulator == PTX_F16 ? PTX_B32 : what->dot->accumulator;
    const bool integer = what->dot->kind == EMU_DOT_INTEGER, wide = ptx_type_bytes[what->dot->a] == 2;
    what->a_in_registers = d->instruction->n_operands > 1 && d->instruction->operand[1].kind == PTX_VECTOR;
    const int at = what->sparse ? 5 : 3; /* of scale-d */
    const int due = at + (integer ? 1 : !wide ? 3 : what->a_in_registers ? 4 : 5);
    if (d->instruction->n_operands != due) return emu_decode_fail(d, "%d operands are due", due);
    bool found =
        what->a_in_registers ? emu_mma_sources(d, 1, PTX_B32, 4, what->a) : emu_mma_sources(d, 1, PTX_B64, 1, what->a);
    found = found && emu_mma_sources(d, 2, PTX_B64, 1, &what->b) &&
            emu_decode_predicate(d, &d->instruction->operand[at], &what->scale_d) &&
            (!what->sparse || sparse_operands(d, what, wide));
    emu_operand unused[128]; /* d is read, too */
    found =
        found && emu_mma_sources(d, 0, sum, what->sums, unused) && emu_mma_destinations(d, 0, sum, what->sums, what->d);
    if (!found || integer) return found;
    if (!choice(d, at + 1, 1, -1, &what->negate_a) || !choice(d, at + 2, 1, -1, &what->negate_b)) return false;
    if (!wide) return true;
    if (what->a_in_registers) return choice(d, at + 3, 0, 1, &what->trans_b);
    return choice(d, at + 3, 0, 1, &what->trans_a) && choice(d, at + 4, 0, 1, &what->trans_b);
}

static bool decode_product(emu_decoding *d) {
    emu_wgmma *what = emu_decode_alloc(d, sizeof *what);
    emu_shape shape;
    what->sparse = ptx_take(&d->words, "sp");
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned") || !emu_mma_shape(d, &shape)) return false;
    what->saturate = ptx_take(&d->words, "satfinite");
    d->op->run = run_product;
    d->op->detail = what;
    return product_types(d, what, &shape) && product_operands(d, what);
}

static bool decode_plain(emu_decoding *d, emu_run *run) {
    d->op->run = run;
    return emu_mma_expect(d, "sync") && emu_mma_expect(d, "aligned") && emu_mma_end(d);
}

bool emu_decode_wgmma(emu_decoding *d) {
    static const char *const names[] = {"mma_async", "fence", "commit_group", "wait_group", NULL};
    d->op->aligned = true;
    switch (ptx_take_of(&d->words, names, -1)) {
        case 0: return decode_product(d);
        case 1: return decode_plain(d, run_fence);
        case 2: return decode_plain(d, run_commit);
        case 3: return decode_plain(d, run_wait) && immediate(d, 0, &d->op->value);
        default: return emu_decode_fail(d, "this wgmma is not known");
    }
}
