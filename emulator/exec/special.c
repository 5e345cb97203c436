/* Special registers: what a lane reads from %tid.x and its kin. Those that do not change while a warp lives are filled
 * in when it begins; the clocks are read at each use. */
#include <string.h>

#include "exec/program.h"

static uint32_t thread_of(const emu_warp *warp, int lane) { return warp->index * EMU_LANES + (uint32_t)lane; }
static const emu_grid *grid_of(const emu_warp *warp) { return warp->block->cluster->grid; }
static emu_dim blocks_in_clusters(const emu_warp *warp) {
    const emu_grid *grid = grid_of(warp);
    return (emu_dim){grid->blocks.x / (grid->cluster.x ? grid->cluster.x : 1),
                     grid->blocks.y / (grid->cluster.y ? grid->cluster.y : 1),
                     grid->blocks.z / (grid->cluster.z ? grid->cluster.z : 1)};
}
static emu_dim cluster_shape(const emu_warp *warp) {
    emu_dim shape = grid_of(warp)->cluster;
    return (emu_dim){shape.x ? shape.x : 1, shape.y ? shape.y : 1, shape.z ? shape.z : 1};
}
/* Time that a program measures by %clock: four cycles a warp instruction, so that a run is the same each time it is
 * seeded the same, and it advances. */
static uint64_t cycles(const emu_warp *warp) { return grid_of(warp)->instructions * 4 + warp->instructions * 4; }

#define VALUE(name, expression)                                               \
    static uint64_t name(const emu_warp *warp, int lane, uint64_t argument) { \
        (void)warp, (void)lane, (void)argument;                               \
        return expression;                                                    \
    }
VALUE(tid_x, thread_of(warp, lane) % grid_of(warp)->threads.x)
VALUE(tid_y, thread_of(warp, lane) / grid_of(warp)->threads.x % grid_of(warp)->threads.y)
VALUE(tid_z, thread_of(warp, lane) / grid_of(warp)->threads.x / grid_of(warp)->threads.y)
VALUE(ntid_x, grid_of(warp)->threads.x)
VALUE(ntid_y, grid_of(warp)->threads.y)
VALUE(ntid_z, grid_of(warp)->threads.z)
VALUE(ctaid_x, warp->block->index.x)
VALUE(ctaid_y, warp->block->index.y)
VALUE(ctaid_z, warp->block->index.z)
VALUE(nctaid_x, grid_of(warp)->blocks.x)
VALUE(nctaid_y, grid_of(warp)->blocks.y)
VALUE(nctaid_z, grid_of(warp)->blocks.z)
VALUE(clusterid_x, warp->block->cluster->index.x)
VALUE(clusterid_y, warp->block->cluster->index.y)
VALUE(clusterid_z, warp->block->cluster->index.z)
VALUE(nclusterid_x, blocks_in_clusters(warp).x)
VALUE(nclusterid_y, blocks_in_clusters(warp).y)
VALUE(nclusterid_z, blocks_in_clusters(warp).z)
VALUE(cluster_ctaid_x, warp->block->index.x % cluster_shape(warp).x)
VALUE(cluster_ctaid_y, warp->block->index.y % cluster_shape(warp).y)
VALUE(cluster_ctaid_z, warp->block->index.z % cluster_shape(warp).z)
VALUE(cluster_nctaid_x, cluster_shape(warp).x)
VALUE(cluster_nctaid_y, cluster_shape(warp).y)
VALUE(cluster_nctaid_z, cluster_shape(warp).z)
VALUE(cluster_ctarank, warp->block->rank)
VALUE(cluster_nctarank, warp->block->cluster->n_blocks)
VALUE(is_explicit_cluster, grid_of(warp)->explicit_cluster)
VALUE(zero, 0)
VALUE(laneid, (uint64_t)lane)
VALUE(warpid, warp->index)
VALUE(nwarpid, 64)
VALUE(smid, warp->block->sm)
VALUE(nsmid, (uint64_t)emu_options_get()->sm_count)
VALUE(gridid, grid_of(warp)->number)
VALUE(lanemask_eq, UINT64_C(1) << lane)
VALUE(lanemask_le, (UINT64_C(2) << lane) - 1)
VALUE(lanemask_lt, (UINT64_C(1) << lane) - 1)
VALUE(lanemask_ge, ~((UINT64_C(1) << lane) - 1) & UINT32_MAX)
VALUE(lanemask_gt, ~((UINT64_C(2) << lane) - 1) & UINT32_MAX)
VALUE(dynamic_smem_size, grid_of(warp)->dynamic_shared)
VALUE(total_smem_size, warp->block->shared_bytes)
VALUE(aggr_smem_size, warp->block->shared_bytes)
VALUE(reserved_smem, EMU_SHARED_FIRST)
VALUE(workspace_high, grid_of(warp)->workspace >> 32)
VALUE(workspace_low, grid_of(warp)->workspace &UINT32_MAX)
VALUE(clock_low, cycles(warp) & UINT32_MAX)
VALUE(clock_high, cycles(warp) >> 32)
VALUE(clock_all, cycles(warp))
VALUE(timer, emu_time)
VALUE(timer_low, emu_time &UINT32_MAX)
VALUE(timer_high, emu_time >> 32)

uint64_t emu_value_zero(const emu_warp *warp, int lane, uint64_t argument) { return zero(warp, lane, argument); }

uint64_t emu_value_shared(const emu_warp *warp, int lane, uint64_t offset) {
    (void)lane;
    return ((uint64_t)warp->block->rank << EMU_SHARED_RANK_SHIFT) + EMU_SHARED_FIRST + offset;
}

#define THREE(name, value) \
    {name ".x", 4, value##_x, false}, {name ".y", 4, value##_y, false}, { name ".z", 4, value##_z, false }
static const emu_special specials[] = {
    THREE("tid", tid),
    THREE("ntid", ntid),
    THREE("ctaid", ctaid),
    THREE("nctaid", nctaid),
    THREE("clusterid", clusterid),
    THREE("nclusterid", nclusterid),
    THREE("cluster_ctaid", cluster_ctaid),
    THREE("cluster_nctaid", cluster_nctaid),
    {"cluster_ctarank", 4, cluster_ctarank, false},
    {"cluster_nctarank", 4, cluster_nctarank, false},
    {"is_explicit_cluster", 0, is_explicit_cluster, false},
    {"laneid", 4, laneid, false},
    {"warpid", 4, warpid, false},
    {"nwarpid", 4, nwarpid, false},
    {"smid", 4, smid, false},
    {"nsmid", 4, nsmid, false},
    {"gridid", 8, gridid, false},
    {"lanemask_eq", 4, lanemask_eq, false},
    {"lanemask_le", 4, lanemask_le, false},
    {"lanemask_lt", 4, lanemask_lt, false},
    {"lanemask_ge", 4, lanemask_ge, false},
    {"lanemask_gt", 4, lanemask_gt, false},
    {"dynamic_smem_size", 4, dynamic_smem_size, false},
    {"total_smem_size", 4, total_smem_size, false},
    {"aggr_smem_size", 4, aggr_smem_size, false},
    {"reserved_smem_offset_begin", 4, zero, false},
    {"reserved_smem_offset_end", 4, reserved_smem, false},
    {"reserved_smem_offset_cap", 4, reserved_smem, false},
    {"clock", 4, clock_low, true},
    {"clock_hi", 4, clock_high, true},
    {"clock64", 8, clock_all, true},
    {"globaltimer", 8, timer, true},
    {"globaltimer_lo", 4, timer_low, true},
    {"globaltimer_hi", 4, timer_high, true},
    {"envreg1", 4, workspace_high, false}, /* as cooperative_groups reads them */
    {"envreg2", 4, workspace_low, false},
    {"current_graph_exec", 8, zero, false},
};

const emu_special *emu_special_find(const char *name) {
    static const emu_special counter = {"", 4, zero, false};
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (!strcmp(specials[i].name, name)) return specials + i;
    /* The other %envreg<32> and %pm0…7 read as zero: no driver and no counters here. */
    if (!strncmp(name, "envreg", 6) || (!strncmp(name, "pm", 2) && name[2] >= '0' && name[2] <= '7')) return &counter;
    return NULL;
}

emu_result emu_run_special(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_special *special = op->detail;
    uint64_t value[EMU_LANES], now = special->value(warp, 0, 0);
    for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = now;
    emu_lanes_write(warp, op->operand[0], mask, value);
    return EMU_NEXT;
}
