/* JSON of `ridge verify`: one entry per variant or per mutant. */
#include <math.h>
#include <stdio.h>

#include "record/json.h"
#include "record/record.h"

json_t *ridge_json_verified(const ridge_verified *v) {
    char name[RIDGE_CASE_NAME], digest[20];
    (void)snprintf(digest, sizeof digest, "%016llx", (unsigned long long)v->digest);
    if (v->all_cases)
        (void)snprintf(name, sizeof name, "(all)");
    else
        ridge_case_name(v->target, &v->c, name, sizeof name);
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:i, s:o, s:o}", "target", ridge_json_text(v->target->name),
                     "case", ridge_json_text(name), "variant", ridge_json_text(v->variant->name), "way",
                     v->way && v->way[0] ? ridge_json_text(v->way) : json_null(), "isa", ridge_isa_name(v->isa),
                     "verdict", v->verdict, "reason", ridge_json_text(v->reason), "runs", v->runs, "worst",
                     ridge_json_number(v->runs > 0 ? v->worst : (double)NAN), "digest",
                     v->runs > 0 ? ridge_json_text(digest) : json_null());
}

json_t *ridge_json_mutation(const ridge_mutation *m) {
    return json_pack("{s:o, s:o, s:i, s:s, s:o}", "target", ridge_json_text(m->target->name), "mutant",
                     ridge_json_text(m->mutant), "applied", m->applied, "verdict", m->verdict, "reason",
                     ridge_json_text(m->reason));
}
