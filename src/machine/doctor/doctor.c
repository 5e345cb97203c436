/* ridge doctor: what would make numbers untrue here. Each check examines one thing, reports what it found and, if that
 * is a problem, one remedy. What cannot be observed is reported as unknown, never assumed to be fine. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

#include "device/device.h"
#include "core/shortage.h"
#include "machine/doctor/finding.h"
#include "machine/identity/system.h"
#include "measure/stats.h"

void ridge_finding_set(ridge_finding *f, ridge_health health, const char *found, ...) {
    va_list args;
    va_start(args, found);
    f->health = health;
    (void)vsnprintf(f->found, sizeof f->found, found, args);
    va_end(args);
}

void ridge_finding_advise(ridge_finding *f, const char *advice) {
    (void)snprintf(f->advice, sizeof f->advice, "%s", advice);
}

/* ---- the processor and its clock --------------------------------------------------------------------------------- */

static void check_governor(const ridge_machine *m, ridge_finding *f) {
    if (strcmp(m->governor, "performance") == 0)
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "performance");
    else if (m->governor[0]) {
        ridge_finding_set(f, RIDGE_HEALTH_BAD, "%s", m->governor);
        ridge_finding_advise(f, "as root: cpupower frequency-set -g performance");
    } else {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "the system does not show one");
        if (!m->hypervisor[0])
            ridge_finding_advise(f, "load the processor's cpufreq driver, or fix the clock in the firmware settings");
    }
}

static void check_turbo(const ridge_machine *m, ridge_finding *f) {
    /* The file of this machine, and what is written there to keep the clock at its base. */
    static const char lock_intel[] = "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo";
    static const char lock_boost[] = "echo 0 > /sys/devices/system/cpu/cpufreq/boost";
    char intel[8], boost[8], advice[160];
    const char *lock = lock_boost;
    bool on;
    if (ridge_system_line("/sys/devices/system/cpu/intel_pstate/no_turbo", intel, sizeof intel))
        on = intel[0] == '0', lock = lock_intel;
    else if (ridge_system_line("/sys/devices/system/cpu/cpufreq/boost", boost, sizeof boost))
        on = boost[0] == '1';
    else {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "the system does not show whether the clock is boosted");
        ridge_finding_advise(
            f, m->hypervisor[0] ? "the host decides: compare ratios within one run, not times across days" : "");
        return;
    }
    ridge_finding_set(f, on ? RIDGE_HEALTH_NOTE : RIDGE_HEALTH_GOOD,
                      on ? "on: the clock depends on temperature and on other cores" : "off");
    (void)snprintf(advice, sizeof advice, "for times that repeat, as root: %s", lock);
    if (on) ridge_finding_advise(f, advice);
}

static void check_hypervisor(const ridge_machine *m, ridge_finding *f) {
    if (!m->hypervisor[0]) {
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "none seen");
        return;
    }
    ridge_finding_set(f, RIDGE_HEALTH_NOTE, "%s: caches, memory bandwidth and clock may be shared with others",
                      m->hypervisor);
    ridge_finding_advise(f, "trust ratios of one run; take the machine's ceilings again before quoting percentages");
}

static void check_smt(const ridge_machine *m, ridge_finding *f) {
    if (m->threads == m->cores) {
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "%d cores, one logical processor each in use", m->cores);
        if (m->hypervisor[0]) {
            ridge_finding_set(f, RIDGE_HEALTH_NOTE,
                              "%d cores as the virtual machine shows them; they may be halves of real ones", m->cores);
            ridge_finding_advise(
                f, "compare one thread with two: a pair that does not double its fp32 rate shares a core");
        }
        return;
    }
    ridge_finding_set(f, RIDGE_HEALTH_NOTE, "%d logical processors on %d cores", m->threads, m->cores);
    ridge_finding_advise(f, "keep --threads at the number of cores: siblings share one core's arithmetic");
}

static void check_clock(const ridge_machine *m, ridge_finding *f) {
    char source[32];
    (void)m;
    if (!ridge_system_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source)) {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "the system does not name its clock source");
        return;
    }
    static const char *const fast[] = {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"};
    bool good = false;
    for (size_t i = 0; i < sizeof fast / sizeof fast[0]; i++) good = good || strcmp(source, fast[i]) == 0;
    double best = HUGE_VAL;
    for (int i = 0; i < 20; i++) {
        uint64_t begin = ridge_clock_ns();
        for (int k = 0; k < 100; k++) (void)ridge_clock_ns();
        best = fmin(best, (double)(ridge_clock_ns() - begin) / 101);
    }
    good = good && best < 500;
    ridge_finding_set(f, good ? RIDGE_HEALTH_GOOD : RIDGE_HEALTH_BAD, "%s, %.0f ns a reading", source, best);
    if (!good)
        ridge_finding_advise(
            f, "boot with clocksource=tsc if the processor's counter is invariant: short launches cannot be timed so");
}

/* ---- what else runs ---------------------------------------------------------------------------------------------- */

static void check_load(const ridge_machine *m, ridge_finding *f) {
    double load[1];
    if (getloadavg(load, 1) != 1) {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "the system does not show its load");
        return;
    }
    double idle = m->threads - load[0];
    ridge_health health = load[0] < 0.3 ? RIDGE_HEALTH_GOOD : idle > 1 ? RIDGE_HEALTH_NOTE : RIDGE_HEALTH_BAD;
    ridge_finding_set(f, health, "load of the last minute %.2f on %d logical processors", load[0], m->threads);
    if (health != RIDGE_HEALTH_GOOD)
        ridge_finding_advise(f, "stop other programs, or wait a minute if it was ridge itself");
}

/* Runs chunks of arithmetic that take equal time when nothing interrupts. Extra time went to others: this system, or
 * other guests of the hypervisor. */
static void check_jitter(const ridge_machine *m, ridge_finding *f) {
    enum { CHUNKS = 1500, WORK = 12000 };
    double *ns = malloc(CHUNKS * sizeof *ns), lost = 0, worst = 0, all = 0;
    (void)m;
    if (!ns) {
        ridge_shortage_note();
        return;
    }
    for (int i = 0; i < CHUNKS; i++) {
        uint64_t begin = ridge_clock_ns(), x = begin | 1;
        for (int k = 0; k < WORK; k++) {
            x = x * 5 + 1;
            __asm__ volatile("" : "+r"(x));
        }
        ns[i] = (double)(ridge_clock_ns() - begin);
    }
    double usual = ridge_median(ns, CHUNKS);
    for (int i = 0; i < CHUNKS; i++) {
        all += ns[i], worst = fmax(worst, ns[i]);
        if (ns[i] > 1.2 * usual) lost += ns[i] - usual;
    }
    double percent = 100 * lost / all;
    ridge_finding_set(f,
                      percent < 0.5 ? RIDGE_HEALTH_GOOD
                      : percent < 3 ? RIDGE_HEALTH_NOTE
                                    : RIDGE_HEALTH_BAD,
                      "%.2f %% of the time lost to interruptions, the longest %.0f us", percent,
                      fmax(worst - usual, 0) / 1e3);
    if (percent >= 0.5)
        ridge_finding_advise(
            f, "something else runs on this processor, here or beside this virtual machine: measure again later");
    free(ns);
}

static void check_quota(const ridge_machine *m, ridge_finding *f) {
    double quota = ridge_system_cpu_quota();
    if (quota <= 0 || quota >= m->threads) {
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "no limit on processor time below %d processors", m->threads);
        return;
    }
    ridge_finding_set(f, RIDGE_HEALTH_BAD, "a control group grants %.2f processors of %d", quota, m->threads);
    ridge_finding_advise(
        f, "threads will be stopped in the middle of samples: raise cpu.max, or use --threads below the quota");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void check_memory(const ridge_machine *m, ridge_finding *f) {
    bool limited = false;
    (void)ridge_system_memory(&limited);
    double gib = (double)m->memory_bytes / (1 << 30);
    bool small = gib < 2;
    ridge_finding_set(f, small ? RIDGE_HEALTH_NOTE : RIDGE_HEALTH_GOOD, "%.1f GiB%s", gib,
                      limited ? ", limited by a control group" : "");
    if (small) ridge_finding_advise(f, "large cases will be skipped: give the process more memory");
}

static void check_pages(const ridge_machine *m, ridge_finding *f) {
    char mode[64];
    (void)m;
    if (!ridge_system_line("/sys/kernel/mm/transparent_hugepage/enabled", mode, sizeof mode)) {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "the system does not offer transparent huge pages");
        ridge_finding_advise(f, "expect lower memory rates: address translation misses are part of every one");
    } else if (strstr(mode, "[never]")) {
        ridge_finding_set(f, RIDGE_HEALTH_NOTE, "transparent huge pages are off");
        ridge_finding_advise(f, "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    } else {
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "huge pages on request (%s)", mode);
    }
}

/* ---- what ridge can use ------------------------------------------------------------------------------------------ */

static void check_counters(const ridge_machine *m, ridge_finding *f) {
    char level[16] = "?";
#if defined(__linux__)
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr, .config = PERF_COUNT_HW_CPU_CYCLES};
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd >= 0) {
        (void)close((int)fd);
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "cycle counter readable");
        return;
    }
#endif
    (void)ridge_system_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof level);
    ridge_finding_set(f, RIDGE_HEALTH_NOTE, "no hardware counters (perf_event_paranoid %s)", level);
    ridge_finding_advise(f, m->hypervisor[0]
                                ? "the host must pass the counters through; ridge needs none of them for its verdicts"
                                : "as root: sysctl kernel.perf_event_paranoid=1");
}

static bool opens(const char *const *names, const char **found) {
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        if (!library) continue;
        (void)dlclose(library);
        *found = *names;
        return true;
    }
    return false;
}

static void check_peers(const ridge_machine *m, ridge_finding *f) {
    static const char *const onednn[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
    static const char *const openblas[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    const char *dnn = "oneDNN not found", *blas = "OpenBLAS not found";
    (void)m;
    bool both = opens(onednn, &dnn);
    both = opens(openblas, &blas) && both;
    ridge_finding_set(f, both ? RIDGE_HEALTH_GOOD : RIDGE_HEALTH_NOTE, "%s, %s", dnn, blas);
    if (!both)
        ridge_finding_advise(
            f, "install oneDNN and OpenBLAS to compare with them (Debian: libdnnl-dev libopenblas0-pthread)");
}

bool ridge_program_find(const char *name, char *program, int size) {
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p; p += strspn(p, ":")) {
        size_t length = strcspn(p, ":");
        int n = snprintf(program, (size_t)size, "%.*s/%s", (int)length, p, name);
        if (n > 0 && n < size && access(program, X_OK) == 0) return true;
        p += length;
    }
    program[0] = '\0';
    return false;
}

static void check_gnuplot(const ridge_machine *m, ridge_finding *f) {
    char program[1024];
    (void)m;
    if (ridge_program_find("gnuplot", program, (int)sizeof program)) {
        ridge_finding_set(f, RIDGE_HEALTH_GOOD, "%.*s", (int)sizeof f->found - 1, program);
        return;
    }
    ridge_finding_set(f, RIDGE_HEALTH_NOTE, "not found: plots will be made without it or left out");
    ridge_finding_advise(f, "install gnuplot (Debian: gnuplot-nox)");
}

static void check_isa(const ridge_machine *m, ridge_finding *f) {
    ridge_finding_set(f, m->isa == RIDGE_ISA_scalar ? RIDGE_HEALTH_NOTE : RIDGE_HEALTH_GOOD, "%s",
                      ridge_isa_name(m->isa));
    if (m->isa == RIDGE_ISA_scalar)
        ridge_finding_advise(f, "ridge's vector kernels do not run here: speedups will be small");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static void check_build(const ridge_machine *m, ridge_finding *f) {
#if defined(__OPTIMIZE__)
    const bool optimized = true;
#else
    const bool optimized = false;
#endif
    bool good = optimized && !SANITIZED;
    ridge_finding_set(f, good ? RIDGE_HEALTH_GOOD : RIDGE_HEALTH_BAD, "%s%s%s", m->compiler,
                      optimized ? ", optimized" : ", not optimized", SANITIZED ? ", with sanitizers" : "");
    if (!good)
        ridge_finding_advise(f, "build with CMAKE_BUILD_TYPE=Release and without sanitizers before timing anything");
}

typedef struct check {
    const char *what;
    void (*look)(const ridge_machine *machine, ridge_finding *finding);
    bool timing; /* when it is bad, times measured now are not what they would be */
} check;

static const check checks[] = {
    {"build", check_build, true},
    {"isa", check_isa, false},
    {"governor", check_governor, true},
    {"turbo", check_turbo, false},
    {"hypervisor", check_hypervisor, false},
    {"cores", check_smt, false},
    {"clock", check_clock, true},
    {"load", check_load, true},
    {"jitter", check_jitter, true},
    {"quota", check_quota, true},
    {"memory", check_memory, false},
    {"pages", check_pages, false},
    {"counters", check_counters, false},
    {"peers", check_peers, false},
};
static const check last = {"gnuplot", check_gnuplot, false};

/* Keeps a finding unless it is empty. Returns the new number of findings. */
static int look(const check *one, const ridge_machine *machine, ridge_finding *findings, int n) {
    if (n == RIDGE_MAX_FINDINGS) return n;
    findings[n] = (ridge_finding){.what = one->what};
    one->look(machine, &findings[n]);
    return findings[n].found[0] ? n + 1 : n;
}

const char *ridge_health_name(ridge_health health) {
    static const char *const names[] = {
        [RIDGE_HEALTH_GOOD] = "good", [RIDGE_HEALTH_NOTE] = "note", [RIDGE_HEALTH_BAD] = "bad"};
    return (unsigned)health < sizeof names / sizeof names[0] ? names[health] : "?";
}

int ridge_doctor_timing(const ridge_machine *machine, bool cpu, bool gpu, ridge_finding *findings, int room) {
    static const char *const of_gpu[] = {"gpu clocks", "gpu mig", "gpu others"};
    ridge_finding seen[RIDGE_MAX_FINDINGS];
    int n = 0, kept = 0;
    for (size_t i = 0; cpu && i < sizeof checks / sizeof checks[0]; i++)
        if (checks[i].timing) n = look(&checks[i], machine, seen, n);
    const int first = n;
    if (gpu) n += ridge_doctor_gpu(machine, seen + n, RIDGE_MAX_FINDINGS - n);
    for (int i = 0; i < n && kept < room; i++) {
        bool timing = i < first;
        for (size_t k = 0; k < sizeof of_gpu / sizeof of_gpu[0]; k++)
            timing = timing || strcmp(seen[i].what, of_gpu[k]) == 0;
        if (timing && seen[i].health == RIDGE_HEALTH_BAD) findings[kept++] = seen[i];
    }
    return kept;
}

int ridge_doctor(const ridge_machine *machine, ridge_finding findings[RIDGE_MAX_FINDINGS]) {
    int n = 0;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) n = look(&checks[i], machine, findings, n);
    n += ridge_doctor_gpu(machine, findings + n, RIDGE_MAX_FINDINGS - n);
    return look(&last, machine, findings, n);
}

bool ridge_doctor_disturbed(const ridge_machine *machine, bool gpu, ridge_finding *finding) {
    ridge_finding seen[RIDGE_MAX_FINDINGS] = {{.what = "jitter"}};
    const char *const what = gpu ? "gpu others" : "jitter";
    int n = 1;
    if (gpu)
        n = ridge_doctor_gpu(machine, seen, RIDGE_MAX_FINDINGS);
    else
        check_jitter(machine, seen);
    for (int i = 0; i < n; i++)
        if (strcmp(seen[i].what, what) == 0 && seen[i].health == RIDGE_HEALTH_BAD) return *finding = seen[i], true;
    return false;
}
