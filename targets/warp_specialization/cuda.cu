/* C = A B from slices of K in shared memory: see README.md. Tile, slices and units are those of gemm/mma_tile.cuh;
 * either variant multiplies by wgmma or by mma.sync.
 *
 *   baseline    every warp copies its part of a slice, waits for all others, multiplies and stores: a tile a block
 *   optimized   roles that meet at mbarriers, stage by stage: a thread loads by TMA, eight warps multiply, and with
 *               three roles another thread stores a tile while the next is multiplied and the one after it loaded */
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/call.cuh"
#include "cuda/gemm/mma_tile.cuh"
#include "cuda/host/tensor_map.cuh"
#include "cuda/pipe/ring.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/bulk.cuh"

namespace {

using namespace ridge;

/* ---- products of a tile by eight warps: what they have of a slice, and the units of C that they write ---- */

/* By wgmma: a warpgroup has 64 rows of sums, those of four units. */
template <typename T>
struct by_wgmma {
    static constexpr matmul_tuning tile = {.columns = MMA_N, .stages = 4, .cluster_m = 1, .cluster_n = 1};
    using shape = matmul_shape<T, tile, true, false>;
    static_assert(shape::M == MMA_M && shape::K == MMA_K && shape::stage_bytes == MMA_SLICE_BYTES, "one layout");
    enum { writers = 4 }; /* warps that write a unit */
    float v[shape::sums];

    __device__ static int group(void) { return (int)threadIdx.x / 128 % 2; }
    /* The products of a slice more; they go on behind this. */
    __device__ void add(uint32_t stage, bool first) {
        multiply_stage<shape>(v, stage, stage + MMA_A_BYTES, group(), first ? 0 : 1);
    }
    /* All slices of a tile. A stage is released when the products behind its own are under way. */
    template <class Memory>
    __device__ void multiply(const Memory &memory, ring<Memory::stages> &at, int slices) {
        int before = 0;
        for (int slice = 0; slice < slices; slice++, at.next()) {
            mbarrier_wait_parity(memory.full(at.stage), at.phase);
            add(memory.stage(at.stage), slice == 0);
            wgmma_wait_group<1>();
            if (slice > 0) memory.release(before);
            before = at.stage;
        }
        wgmma_finish(v);
        memory.release(before);
    }
    /* room(unit, write): calls write(to) when the unit may be written; write() is of 16 of its lines. */
    template <typename Room>
    __device__ void put(const Room &room) const {
#pragma unroll
        for (int chunk = 0; chunk < MMA_N / 64; chunk++)
            room(chunk * 2 + group(), [&](uint8_t *to) { put_chunk<T>(shared_address(to), v, chunk); });
    }
};

/* By mma.sync: a warp has one unit. */
template <typename T>
struct by_mma {
    enum { writers = 1 };
    mma_sums sums;

    /* All slices of a tile. A stage is released when its last fragments are in registers. */
    template <class Memory>
    __device__ void multiply(const Memory &memory, ring<Memory::stages> &at, int slices) {
        sums.clear();
        mbarrier_wait_parity(memory.full(at.stage), at.phase);
        sums.open(memory.stage(at.stage));
        for (int slice = 0; slice < slices; slice++) {
            const int here = at.stage;
            at.next();
            sums.add(T(), memory.stage(here), [&](int step) {
                if (step + 1 < MMA_STEPS) return mma_no_stage;
                memory.release(here);
                if (slice + 1 == slices) return mma_no_stage;
                mbarrier_wait_parity(memory.full(at.stage), at.phase);
                return memory.stage(at.stage);
            });
        }
    }
    template <typename Room>
    __device__ void put(const Room &room) const {
        room((int)threadIdx.x / 32 % MMA_WARPS, [&](uint8_t *to) { sums.put(T(), to); });
    }
};

/* ---- baseline: all warps alike ---- */

constexpr int alike_stages = 4, alike_bytes = alike_stages * MMA_SLICE_BYTES;
static_assert(MMA_TILE_BYTES <= alike_bytes, "the tile of C lies where the stages were");

template <typename T>
__global__ void __launch_bounds__(MMA_THREADS, 1) all_alike_mma(const __grid_constant__ mma_args<T> p) {
    extern __shared__ __align__(1024) uint8_t shared_room[];
    mma_multistage_tile<alike_stages>(p, shared_room);
}

/* While a slice is multiplied, the slice before it may be, too: the stage that is filled is of the one before that. */
template <typename T>
__global__ void __launch_bounds__(MMA_THREADS, 1) all_alike(const __grid_constant__ mma_args<T> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared_room[];
    constexpr int ahead = alike_stages - 2;
    const uint32_t room = shared_address(shared_room);
    const auto stage = [&](int slice) { return room + (uint32_t)(slice % alike_stages * MMA_SLICE_BYTES); };
    const mma_corner at(p, (int)blockIdx.x);
    mma_copier<T> copier(p, at);
    const auto copy = [&](int slice) {
        if (slice < p.slices) copier.slice(stage(slice));
        cp_async_commit_group();
    };
    by_wgmma<T> products;
    for (int slice = 0; slice < ahead; slice++) copy(slice);
    for (int slice = 0; slice < p.slices; slice++) {
        cp_async_wait_group<ahead - 1>(); /* the thread's pieces of this slice; */
        fence_proxy_async();              /* wgmma reads what threads have written; */
        __syncthreads();                  /* those of all threads, and the stage that is filled next has been read */
        products.add(stage(slice), slice == 0);
        copy(slice + ahead);
        wgmma_wait_group<1>();
    }
    wgmma_finish(products.v);
    __syncthreads();
    products.put([&](int unit, const auto &write) { write(shared_room + unit * MMA_UNIT_BYTES); });
    __syncthreads();
    mma_store_units(p, at, shared_room, (int)threadIdx.x);
#else
    __trap(); /* launched on Hopper alone */
#endif
}

/* ---- optimized: roles ---- */

/* Shared memory of a block: stages of slices, slots of units on their way to C, and their mbarriers.
 *
 *   full      a stage's bytes have arrived          empty     its eight warps have read it
 *   ready     a slot's unit has been written        vacant    TMA has read it */
template <int Stages, int Slots>
struct roles_memory {
    static constexpr int stages = Stages, slots = Slots;
    static constexpr int bytes = stages * MMA_SLICE_BYTES + slots * MMA_UNIT_BYTES + 16 * (stages + slots);
    static constexpr int units = slots > 0 ? MMA_UNITS / (slots > 0 ? slots : 1) : 0; /* of a tile, in a slot */
    static_assert(bytes <= 227 * 1024 && (slots == 0 || units * slots == MMA_UNITS), "shared memory; slots in turn");
    uint8_t *room;
    uint32_t base;

    __device__ explicit roles_memory(uint8_t *shared) : room(shared), base(shared_address(shared)) {}
    __device__ uint32_t stage(int s) const { return base + (uint32_t)(s * MMA_SLICE_BYTES); }
    __device__ uint8_t *slot(int s) const { return room + stages * MMA_SLICE_BYTES + s * MMA_UNIT_BYTES; }
    __device__ uint32_t full(int s) const { return stage(stages) + (uint32_t)(slots * MMA_UNIT_BYTES + 16 * s); }
    __device__ uint32_t empty(int s) const { return full(s) + 8; }
    __device__ uint32_t ready(int s) const { return full(stages + s); }
    __device__ uint32_t vacant(int s) const { return ready(s) + 8; }

    __device__ void init(int writers) const {
        for (int s = 0; s < stages; s++) mbarrier_init(full(s), 1), mbarrier_init(empty(s), MMA_WARPS);
        for (int s = 0; s < slots; s++) mbarrier_init(ready(s), writers), mbarrier_init(vacant(s), 1);
        fence_mbarrier_init();
    }
    /* A warp has read a stage. */
    __device__ void release(int s) const {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(s));
    }
    /* Unit u of the block's tile number n: its slot, and whether an even or odd number of units had that slot before. */
    __device__ static int slot_of(int u) { return u % slots; }
    __device__ static int turn_of(int n, int u) { return (n * units + u / slots) % 2; }
};

/* The maps of A, B and C: boxes of 128 lines, 64 lines, and a unit. */
struct roles_maps {
    CUtensorMap a, b, c;
};

/* The loader: one thread. */
template <class Memory, typename T>
__device__ inline void load_tiles(const roles_maps &maps, const mma_args<T> &p, const Memory &memory) {
    const uint64_t policy = createpolicy_evict_last();
    ring<Memory::stages> at;
    for (int number = (int)blockIdx.x; number < p.rows * p.columns; number += (int)gridDim.x) {
        const mma_corner corner(p, number);
        for (int slice = 0; slice < p.slices; slice++, at.next()) {
            const uint32_t stage = memory.stage(at.stage), full = memory.full(at.stage);
            mbarrier_wait_parity(memory.empty(at.stage), at.phase ^ 1); /* a new barrier lets pass */
            mbarrier_arrive_expect_tx(full, MMA_SLICE_BYTES);
            cp_async_bulk_tensor_2d(stage, &maps.a, full, slice * MMA_K, corner.row, policy);
#pragma unroll
            for (int chunk = 0; chunk < MMA_N / 64; chunk++)
                cp_async_bulk_tensor_2d(stage + (uint32_t)(MMA_A_BYTES + chunk * MMA_CHUNK_BYTES), &maps.b, full,
                                        corner.column + chunk * 64, slice * MMA_K, policy);
        }
    }
}

/* The storer: one thread. A slot is vacant when the store behind its own is under way, and at the end of a tile. */
template <class Memory, typename T>
__device__ inline void store_tiles(const roles_maps &maps, const mma_args<T> &p, const Memory &memory) {
    int n = 0;
    for (int number = (int)blockIdx.x; number < p.rows * p.columns; number += (int)gridDim.x, n++) {
        const mma_corner corner(p, number);
        for (int u = 0; u < MMA_UNITS; u++) {
            const int slot = Memory::slot_of(u);
            mbarrier_wait_parity(memory.ready(slot), Memory::turn_of(n, u));
            cp_async_bulk_tensor_store(&maps.c, shared_address(memory.slot(slot)), corner.column + u / 2 * 64,
                                       corner.row + u % 2 * 64);
            cp_async_bulk_commit_group();
            cp_async_bulk_wait_group_read<1>();
            if (u > 0) mbarrier_arrive(memory.vacant(Memory::slot_of(u - 1)));
        }
        cp_async_bulk_wait_group_read<0>();
        mbarrier_arrive(memory.vacant(Memory::slot_of(MMA_UNITS - 1)));
    }
    cp_async_bulk_wait_group();
}

/* The eight warps that multiply, and hand units to the storer; without one (no slots), they store the block's only tile
 * where its stages were. */
template <class Products, class Memory, typename T>
__device__ inline void multiply_tiles(const mma_args<T> &p, const Memory &memory) {
    ring<Memory::stages> at;
    int n = 0;
    for (int number = (int)blockIdx.x; number < p.rows * p.columns; number += (int)gridDim.x, n++) {
        Products products;
        products.multiply(memory, at, p.slices);
        if constexpr (Memory::slots == 0) {
            bar_sync<1, MMA_THREADS>();
            products.put([&](int unit, const auto &write) { write(memory.room + unit * MMA_UNIT_BYTES); });
            bar_sync<1, MMA_THREADS>();
            mma_store_units(p, mma_corner(p, number), memory.room, (int)threadIdx.x % MMA_THREADS);
            return;
        } else {
            products.put([&](int unit, const auto &write) {
                const int slot = Memory::slot_of(unit);
                mbarrier_wait_parity(memory.vacant(slot), Memory::turn_of(n, unit) ^ 1);
                write(memory.slot(slot));
                fence_proxy_async(); /* TMA reads what this thread has written */
                __syncwarp();
                if (threadIdx.x % 32 == 0) mbarrier_arrive(memory.ready(slot));
            });
        }
    }
}

constexpr int roles_threads = 128 + MMA_THREADS; /* setmaxnreg is of whole warpgroups */

template <class Products, class Memory, typename T>
__global__ void __launch_bounds__(roles_threads, 1)
    roles(const __grid_constant__ roles_maps maps, const __grid_constant__ mma_args<T> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared_room[];
    const Memory memory(shared_room);
    if (threadIdx.x == 0) {
        prefetch_tensormap(&maps.a), prefetch_tensormap(&maps.b), prefetch_tensormap(&maps.c);
        memory.init(Products::writers);
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        setmaxnreg_dec<40>();
        if (threadIdx.x == 0) load_tiles(maps, p, memory);
        if constexpr (Memory::slots > 0)
            if (threadIdx.x == 32) store_tiles(maps, p, memory);
    } else {
        setmaxnreg_inc<232>();
        multiply_tiles<Products>(p, memory);
    }
#else
    __trap(); /* launched on Hopper alone */
#endif
}

/* ---- launches ---- */

/* kernel_of(T()): the kernel of a type. */
template <typename F>
ridge_status run_alike(const ridge_call *call, const F &kernel_of) {
    return with_matmul_16(call, [&](const matmul_call &m, auto type) {
        using T = decltype(type);
        if (!mma_fits(m.a, m.c)) return RIDGE_UNSUPPORTED;
        const mma_args<T> p = mma_args_of<T>(m.a, m.b, m.c);
        return launch(kernel_of(type), {dim3((unsigned)mma_tiles(p)), MMA_THREADS, alike_bytes}, m.stream, p);
    });
}

/* With a storer, as many blocks as SMs, each tile after tile; else a block a tile. */
template <template <typename> class Products, class Memory>
ridge_status run_roles(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        if (!mma_fits(m.a, m.c)) return RIDGE_UNSUPPORTED;
        const mma_args<T> p = mma_args_of<T>(m.a, m.b, m.c);
        roles_maps maps;
        if (!make_map<T>(&maps.a, lines_of(m.a), MMA_M) || !make_map<T>(&maps.b, lines_of(m.b), MMA_K) ||
            !make_map<T>(&maps.c, lines_of(m.c), 64))
            return RIDGE_FAILED;
        const int tiles = mma_tiles(p), sms = device_limit(cudaDevAttrMultiProcessorCount);
        const int blocks = Memory::slots > 0 && sms < tiles ? sms : tiles;
        return launch(roles<Products<T>, Memory, T>, {dim3((unsigned)blocks), roles_threads, Memory::bytes}, m.stream,
                      maps, p);
    });
}

/* What fits shared memory: four stages, and slots for half of a tile's units; or a slot for every unit, so that no warp
 * waits for the storer, and three stages. */
using no_slots = roles_memory<4, 0>;
using four_slots = roles_memory<4, 4>;
using eight_slots = roles_memory<3, 8>;

}  // namespace

extern "C" ridge_status warp_specialization_cuda_alike(const ridge_call *call) {
    return run_alike(call, [](auto type) { return all_alike<decltype(type)>; });
}
extern "C" ridge_status warp_specialization_cuda_alike_mma(const ridge_call *call) {
    return run_alike(call, [](auto type) { return all_alike_mma<decltype(type)>; });
}
extern "C" ridge_status warp_specialization_cuda_three(const ridge_call *call) {
    return run_roles<by_wgmma, four_slots>(call);
}
extern "C" ridge_status warp_specialization_cuda_three_wide(const ridge_call *call) {
    return run_roles<by_wgmma, eight_slots>(call);
}
extern "C" ridge_status warp_specialization_cuda_two(const ridge_call *call) {
    return run_roles<by_wgmma, no_slots>(call);
}
extern "C" ridge_status warp_specialization_cuda_three_mma(const ridge_call *call) {
    return run_roles<by_mma, eight_slots>(call);
}
extern "C" ridge_status warp_specialization_cuda_two_mma(const ridge_call *call) {
    return run_roles<by_mma, no_slots>(call);
}
