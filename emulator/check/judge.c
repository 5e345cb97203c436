/* Does anything order two accesses? */
#include "check/record.h"

/* Two accesses of one warp, in one epoch or without a barrier that all lanes passed between them. */
static emu_verdict judge_lanes(const emu_accessor *who, const emu_node *past, uint32_t past_lane, uint32_t lane) {
    if (past->epoch <= who->whole) return EMU_ORDERED;
    if (past->strength && who->strength) return EMU_STRONG;
    if (past_lane == lane && lane != EMU_LANE_MANY) return EMU_HARMLESS;
    if (past_lane == EMU_LANE_WARP || lane == EMU_LANE_WARP) return EMU_HARMLESS;
    const uint32_t *lanes = who->order ? who->order->lanes : NULL;
    if (lanes) {
        if (past_lane == EMU_LANE_MANY || lane == EMU_LANE_MANY) return EMU_HARMLESS; /* which lanes is not known */
        if (lanes[lane * EMU_LANES + past_lane] >= past->epoch) return EMU_HARMLESS;
    }
    return EMU_UNORDERED;
}

static bool knows(const emu_accessor *who, const emu_node *past, emu_side side) {
    if (past->family == who->family) return emu_clock_epoch(who->clock, side, past->slot) >= past->epoch;
    const emu_family *family = emu_family_of(past->family);
    return !family || emu_clock_knows_foreign(who->clock, side, past->family, family->launch, past->slot, past->epoch);
}

/* Does an atomic access of this strength reach the other? */
static bool reaches(const emu_accessor *who, const emu_node *past, uint32_t strength) {
    if (strength >= EMU_STRENGTH_GPU) return true;
    if (past->family != who->family) return false;
    return strength == EMU_STRENGTH_CLUSTER || past->rank == who->rank;
}

emu_verdict emu_judge(const emu_accessor *who, uint32_t id, uint32_t past_lane, uint32_t lane) {
    const emu_node *past = &emu_nodes[id];
    bool same_family = past->family == who->family;
    bool same_warp = same_family && past->slot == who->issuer;
    emu_verdict verdict = EMU_ORDERED;
    if (same_warp && (who->order || knows(who, past, EMU_KNOWN))) {
        verdict = judge_lanes(who, past, past_lane, lane);
    } else if (!knows(who, past, EMU_KNOWN)) {
        bool own =
            same_family && past->slot == who->slot && past->operation == who->operation && past->engine && !who->order;
        if (own) return EMU_HARMLESS;
        if (!past->strength || !who->strength) return EMU_UNORDERED;
        return reaches(who, past, past->strength) && reaches(who, past, who->strength) ? EMU_STRONG : EMU_NARROW;
    }
    if (verdict == EMU_UNORDERED || verdict == EMU_STRONG) return verdict;
    if (who->fenced && emu_clock_epoch(who->fenced, EMU_FENCED, past->slot) < past->epoch) return EMU_UNFENCED;
    const bool proxies = who->async && !past->async && (past->write || who->access->after_reads);
    if (proxies && !knows(who, past, EMU_PROXIED)) return EMU_UNPROXIED;
    return verdict;
}
