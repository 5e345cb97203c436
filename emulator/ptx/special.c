/* Special registers: %tid.x and its kin. */
#include <string.h>

#include "ptx/parser.h"

/* Names without %, each with what may follow: numbers from 0, or parts x, y, z, w. */
static const struct {
    const char *name;
    bool parts;
    int numbers;
} specials[] = {
    {"tid", true, 0},
    {"ntid", true, 0},
    {"ctaid", true, 0},
    {"nctaid", true, 0},
    {"clusterid", true, 0},
    {"nclusterid", true, 0},
    {"cluster_ctaid", true, 0},
    {"cluster_nctaid", true, 0},
    {"laneid", false, 0},
    {"warpid", false, 0},
    {"nwarpid", false, 0},
    {"smid", false, 0},
    {"nsmid", false, 0},
    {"gridid", false, 0},
    {"is_explicit_cluster", false, 0},
    {"cluster_ctarank", false, 0},
    {"cluster_nctarank", false, 0},
    {"lanemask_eq", false, 0},
    {"lanemask_le", false, 0},
    {"lanemask_lt", false, 0},
    {"lanemask_ge", false, 0},
    {"lanemask_gt", false, 0},
    {"clock", false, 0},
    {"clock_hi", false, 0},
    {"clock64", false, 0},
    {"pm", false, 8},
    {"envreg", false, 32},
    {"globaltimer", false, 0},
    {"globaltimer_lo", false, 0},
    {"globaltimer_hi", false, 0},
    {"reserved_smem_offset_begin", false, 0},
    {"reserved_smem_offset_end", false, 0},
    {"reserved_smem_offset_cap", false, 0},
    {"reserved_smem_offset_", false, 2},
    {"total_smem_size", false, 0},
    {"aggr_smem_size", false, 0},
    {"dynamic_smem_size", false, 0},
    {"current_graph_exec", false, 0},
};

bool ptx_special_read(ptx_parser *p, ptx_operand *o, const ptx_name *name) {
    char text[48];
    for (size_t k = 0; k < sizeof specials / sizeof *specials; k++) {
        size_t length = strlen(specials[k].name);
        if (name->length <= length || memcmp(name->text + 1, specials[k].name, length) != 0) continue;
        uint32_t left = name->length - 1 - (uint32_t)length;
        if (specials[k].numbers ? !left || left > 2 || name->prefix > length + 1 : left != 0) continue;
        length = name->length - 1;
        memcpy(text, name->text + 1, length);
        if (specials[k].parts && p->at + 1 < p->end && *p->at == '.' && p->at[1] && strchr("xyzw", p->at[1])) {
            text[length++] = '.';
            text[length++] = p->at[1];
            p->at += 2;
        }
        ptx_name whole = {.text = text, .length = (uint32_t)length, .hash = ptx_hash(text, length)};
        o->kind = PTX_SPECIAL;
        o->text = ptx_name_keep(p, &whole);
        return true;
    }
    return ptx_fail(p, "'%.*s' is no register that is declared", (int)name->length, name->text);
}
