/* ridge doctor on the GPU: what about it, and about its other users, would make numbers untrue. NVML runs in this
 * process: unlike CUDA it survives a fork, as long as children open it again. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/nvml.h"
#include "machine/doctor/finding.h"

typedef struct patient {
    const ridge_machine *m;
    ridge_gpu_setup setup;
    ridge_gpu_state state;
} patient;

static void check_driver(const patient *p, ridge_finding *f) {
    const ridge_gpu *g = &p->m->gpu;
    ridge_finding_set(f, RIDGE_HEALTH_GOOD, "%s%sCUDA %d.%d, runtime of this build %d.%d", p->setup.driver,
                      p->setup.driver[0] ? ", for " : "for ", g->driver / 1000, g->driver % 1000 / 10,
                      g->runtime / 1000, g->runtime % 1000 / 10);
    if (g->driver < g->runtime) { /* minor versions of one major may mix */
        f->health = RIDGE_HEALTH_NOTE;
        ridge_finding_advise(f, "install a driver at least as new as this runtime");
    }
}

static void check_persistence(const patient *p, ridge_finding *f) {
    if (p->setup.persistence < 0) return;
    ridge_finding_set(f, p->setup.persistence ? RIDGE_HEALTH_GOOD : RIDGE_HEALTH_NOTE, "%s",
                      p->setup.persistence ? "on" : "off: the driver is loaded again for every worker process");
    if (!p->setup.persistence) ridge_finding_advise(f, "as root: nvidia-smi -pm 1");
}

static void check_clocks(const patient *p, ridge_finding *f) {
    const ridge_gpu_state *s = &p->state;
    char reasons[100], most[24] = "", limit[32] = "", lock[160];
    if (!s->known) {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "not reported by NVML: throttled samples cannot be detected");
        return;
    }
    bool throttled = ridge_gpu_throttled(s->throttle);
    if (p->setup.max_sm_mhz > 0) (void)snprintf(most, sizeof most, " of %d", p->setup.max_sm_mhz);
    if (p->setup.power_limit_w > 0) (void)snprintf(limit, sizeof limit, " of %.0f", p->setup.power_limit_w);
    ridge_finding_set(f, throttled ? RIDGE_HEALTH_BAD : RIDGE_HEALTH_GOOD,
                      "SM %d%s MHz, memory %d MHz, %.0f%s W, %d C, held by: %s", s->sm_mhz, most, s->memory_mhz,
                      s->power_w, limit, s->temperature_c,
                      ridge_gpu_reasons(s->throttle, reasons, (int)sizeof reasons));
    /* The highest clock is a start: a lower one is held longer. */
    (void)snprintf(
        lock, sizeof lock,
        "for times that repeat, as root: nvidia-smi -lgc %d,%d; lower where samples are throttled, undo by -rgc",
        p->setup.max_sm_mhz, p->setup.max_sm_mhz);
    if (throttled)
        ridge_finding_advise(f, "let it cool, stop what else runs on it, or raise its power limit");
    else if (p->setup.max_sm_mhz > 0)
        ridge_finding_advise(f, lock);
}

static void check_ecc(const patient *p, ridge_finding *f) {
    if (p->setup.ecc < 0) return;
    ridge_finding_set(f, RIDGE_HEALTH_GOOD, "%s", p->setup.ecc ? "on" : "off");
}

static void check_mig(const patient *p, ridge_finding *f) {
    if (p->setup.mig < 0) return;
    ridge_finding_set(
        f, p->setup.mig ? RIDGE_HEALTH_NOTE : RIDGE_HEALTH_GOOD, "%s",
        p->setup.mig ? "on: this is a slice of a GPU, which shares clock and power with the others" : "off");
}

static void check_others(const patient *p, ridge_finding *f) {
    const ridge_gpu_setup *s = &p->setup;
    if (s->processes < 0 && !(s->total_bytes > 0)) return;
    bool busy = s->processes > 0 || s->used_bytes > 0.05 * s->total_bytes;
    ridge_finding_set(f, busy ? RIDGE_HEALTH_BAD : RIDGE_HEALTH_GOOD, "%d other process%s, %.1f of %.1f GB in use",
                      s->processes < 0 ? 0 : s->processes, s->processes == 1 ? "" : "es", s->used_bytes * 1e-9,
                      s->total_bytes * 1e-9);
    if (busy) ridge_finding_advise(f, "stop them (nvidia-smi names them): they take bandwidth, clock and L2");
}

/* The driver's parameter: 1 if only root may read hardware counters, -1 if unknown. */
static int counters_for_root_only(void) {
    FILE *file = fopen("/proc/driver/nvidia/params", "re");
    char line[256];
    int value = -1;
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "RmProfilingAdminOnly:", 21) == 0) value = atoi(line + 21);
    if (file) (void)fclose(file);
    return value;
}

static void check_counters(const patient *p, ridge_finding *f) {
    int only_root = counters_for_root_only();
    (void)p;
    if (only_root < 0) {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "unknown who may read them: the driver does not report it");
    } else if (only_root && geteuid() != 0) {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "for root only: DRAM bytes stay declared, not counted");
        ridge_finding_advise(f, "driver option NVreg_RestrictProfilingToAdminUsers=0 lets everybody read them");
    } else {
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "this user may read them");
    }
}

static void check_ncu(const patient *p, ridge_finding *f) {
    static const char *const places[] = {"/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu"};
    char program[1024];
    (void)p;
    bool found = ridge_program_find("ncu", program, (int)sizeof program);
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !found; i++) {
        glob_t at;
        found = glob(places[i], 0, NULL, &at) == 0 && access(at.gl_pathv[0], X_OK) == 0;
        if (found) (void)snprintf(program, sizeof program, "%s", at.gl_pathv[0]);
        globfree(&at);
    }
    if (found) {
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "%.*s", (int)sizeof f->found - 1, program);
        return;
    }
    ridge_finding_set(f, RIDGE_HEALTH_NOTE, "not found: DRAM bytes stay declared, not counted");
    ridge_finding_advise(f, "install NVIDIA Nsight Compute");
}

static const struct {
    const char *what;
    void (*look)(const patient *p, ridge_finding *finding);
} checks[] = {
    {"gpu driver", check_driver},     {"gpu persistence", check_persistence},
    {"gpu clocks", check_clocks},     {"gpu ecc", check_ecc},
    {"gpu mig", check_mig},           {"gpu others", check_others},
    {"gpu counters", check_counters}, {"ncu", check_ncu},
};

int ridge_doctor_gpu(const ridge_machine *m, ridge_finding *findings, int room) {
    patient p = {.m = m};
    int n = 0;
    if (room < 1) return 0;
    findings[n] = (ridge_finding){.what = "gpu"};
    if (m->gpu.sm == 0) {
        ridge_finding_set(&findings[n], RIDGE_HEALTH_NOTE, "none to use: %.140s", m->no_gpu);
        return 1;
    }
    ridge_finding_set(&findings[n++], RIDGE_HEALTH_GOOD, "%s, sm_%d, %d SMs, %.1f GB", m->gpu.name, m->gpu.sm,
                      m->gpu.sm_count, (double)m->gpu.memory_bytes * 1e-9);
    ridge_nvml *nvml = NULL;
    (void)ridge_nvml_open(m->gpu.bus, &nvml);
    ridge_nvml_setup(nvml, &p.setup);
    ridge_nvml_read(nvml, &p.state);
    ridge_nvml_close(nvml);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && n < room; i++) {
        findings[n] = (ridge_finding){.what = checks[i].what};
        checks[i].look(&p, &findings[n]);
        n += findings[n].found[0] != '\0';
    }
    return n;
}
