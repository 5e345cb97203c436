/* Pixels of a tensor [n][d][h][w][c] in the order in which an instruction of mode .im2col walks them (PTX ISA, "im2col mode"):
 * from the pixel of its coordinates on, along w, then h, d and n, within the corners of the tensor map. A walk that leaves the
 * corners along one dimension goes on at the lower corner, one step further along the next. The instruction's offsets are added
 * to where a pixel lies, not to the walk: a filter's taps read the same walk, each from its own place. */
#include "async/tensor_map.h"

/* Steps along a dimension that still end within the corners. */
static int64_t steps_left(int64_t at, int64_t last, int64_t step) { return at > last ? 0 : (last - at) / step; }

void emu_tensor_pixel(const emu_tensor_map *map, const emu_tensor_place *place, uint32_t pixel,
                      int64_t at[EMU_TENSOR_RANKS]) {
    const int outer = map->rank - 1;
    int64_t steps = pixel; /* along this dimension */
    at[0] = place->coordinate[0];
    for (int i = 1; i < outer; i++) {
        const int64_t lower = map->lower[i - 1], upper = (int64_t)map->last[i] + map->upper[i - 1], step = map->step[i];
        const int64_t first = place->coordinate[i], left = steps_left(first, upper, step);
        const int64_t line = steps_left(lower, upper, step) + 1;
        const bool stays = steps <= left;
        const int64_t rest = stays ? 0 : steps - left - 1;
        at[i] = (stays ? first + steps * step : lower + rest % line * step) + place->offset[i - 1];
        steps = stays ? 0 : 1 + rest / line;
    }
    at[outer] = (int64_t)place->coordinate[outer] + steps * map->step[outer];
}
