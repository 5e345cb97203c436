/* The table of subcommands. */
#include <string.h>

#include "cli/options.h"
#include "cli/values.h"

static const char selection[] =
    "PATTERN names a chapter (ch09), a target (fused_l2norm) or both (ch09:fused_l2norm). Shell wildcards work "
    "('*softmax*'), and so does a part of one target's name (l2norm). A path is that of a target which ridge was not "
    "built "
    "with: the folder that `ridge new` writes, compiled, or a shared object (./mine.so, see ridge/targets.h). Without "
    "a "
    "PATTERN every target is selected.";

const ridge_command ridge_commands[] = {
    {"list", 'l', "Targets, a line each; of one target, its cases, variants and ways.", "[PATTERN…]", selection,
     "  ridge list\n  ridge list l2norm\n  ridge list --chapter ch09 --json -\n", ridge_cmd_list, ridge_pattern_words},
    {"run", 'r', "Verify and measure every variant, and place it on the roofline.", "[PATTERN…]", selection,
     "  ridge run ch09 --output runs/today\n"
     "  ridge run '*softmax*' --threads 1 --hot\n"
     "  ridge run fused_l2norm --sizes 2^10..2^16x4096 --dtype bf16\n"
     "  ridge run linear_softmax --input x=x.npy --input w=w.npy --input b=b.npy\n",
     ridge_cmd_run, ridge_pattern_words},
    {"compare", 'c', "Baseline against optimized: speedup, bytes saved, agreement.", "[PATTERN…]", selection,
     "  ridge compare ch09:fused_l2norm\n  ridge compare linear_softmax --sizes 1024x1024x100 --threads 1\n",
     ridge_cmd_compare, ridge_pattern_words},
    {"tune", 't', "Measure the ways of a variant, and keep those that beat the predicted one.", "[PATTERN…]", selection,
     "  ridge tune online_softmax --sizes 64x1500,1Mx12\n"
     "  ridge tune linear_softmax --sizes 64..4096x1024x1000 --dtype bf16 --tuned mine\n"
     "  ridge run linear_softmax --sizes 64x1024x1000 --tuned mine\n",
     ridge_cmd_tune, ridge_pattern_words},
    {"peak", 'p', "The ceilings measured on this machine.", "",
     "The ceilings are measured when first needed and kept in the cache directory with their date. --refresh measures "
     "them again.",
     "  ridge peak\n  ridge peak --refresh --threads 1 --json peaks.json\n", ridge_cmd_peak, NULL},
    {"roofline", 'f', "Measure, and draw only the roofline.", "[PATTERN…]", selection,
     "  ridge roofline ch09 --max-time 0.5\n  ridge roofline 'linear_*' --output plots\n", ridge_cmd_roofline,
     ridge_pattern_words},
    {"verify", 'v', "Check every variant and case against the fp64 oracle, untimed.", "[PATTERN…]", selection,
     "  ridge verify\n  ridge verify --mutants\n  ridge verify 'online_*' --isa scalar\n", ridge_cmd_verify,
     ridge_pattern_words},
    {"launch", 'n', "Run variants once, unverified and untimed, for profilers.", "[PATTERN…]", selection,
     "  ncu --profile-from-start off --set full \\\n"
     "      ridge launch fused_l2norm --variant cuda/optimized\n"
     "  compute-sanitizer ridge launch --backend cuda --sizes 33x1001 online_softmax\n"
     "  perf record \\\n"
     "      ridge launch micro_tiling_matmul --variant cpu/optimized --iterations 100\n",
     ridge_cmd_launch, ridge_pattern_words},
    {"asm", 'a', "Instructions of the GPU kernels that variants launch, counted in PTX and SASS.", "PATTERN…",
     "Each variant is captured, not run; of each kernel that it launches, a line for its PTX and one for its machine "
     "code (SASS) count "
     "tensor-core instructions, copies by TMA and by cp.async, loads and stores of global (vector, scalar), shared and "
     "local "
     "memory, where registers are spilled to, special functions, fused multiply-adds and barriers. A loop's body "
     "counts once. "
     "Needs CUDA's cuobjdump and nvdisasm; without a GPU, ridge-emulated has the PTX.",
     "  ridge asm fused_l2norm\n"
     "  ridge asm gemm --sizes 4096x4096x4096 --dtype bf16 --variant cuda/optimized\n"
     "  ridge asm rsqrt --sizes 1M --text sass >rsqrt.sass\n",
     ridge_cmd_asm, ridge_pattern_words},
    {"profile", 'o', "What limits the GPU kernels of variants: counted by NVIDIA's profiler, said in words.",
     "PATTERN…",
     "Each variant is launched once under ncu (Nsight Compute), which flushes the caches first and repeats each kernel "
     "as "
     "often as it has counters to read. A line a kernel: its time under the profiler, bytes of DRAM beside those that "
     "the "
     "variant declares, bytes of L2, per cent of the peaks of DRAM, L2, L1, tensor cores and issue of instructions, "
     "and "
     "warps of those that fit. Below: the unit that limits it, or what warps wait for.",
     "  ridge profile fused_l2norm --sizes 16384x4096\n"
     "  ridge profile gemm --sizes 8192x8192x8192 --dtype bf16 --variant cuda/optimized --json -\n",
     ridge_cmd_profile, ridge_pattern_words},
    {"check", 'k', "Judge a kernel of your own: right on all cases, and how fast beside ridge's.",
     "TARGET FILE[:SYMBOL]",
     "FILE is a shared object, C (.c, compiled by cc), CUDA C (.cu, by nvcc) or Python (.py, on arrays of NumPy or "
     "PyTorch); SYMBOL is a function as <ridge/kernel.h> has it (default: ridge_kernel), or void solve(inputs, "
     "outputs, "
     "extents), whose arguments ridge list TARGET names. It runs in a process of its own, which sees the operands of "
     "one "
     "launch and nothing else. First every edge case of the target is checked, then the others are timed; "
     "ridge-emulated "
     "does not time, but attests what each launch of a .cu read and wrote. Without --dtype only f32.",
     "  ridge check fused_l2norm mine.c\n  ridge check fused_l2norm model.py:ModelNew\n  ridge check fused_l2norm "
     "./mine.so:my_norm --sizes 4096x4096 --threads 1\n",
     ridge_cmd_check, ridge_pattern_words},
    {"time", 'm', "Time a function of your own, without an oracle: only by its arguments.", "FILE[:SYMBOL]",
     "FILE is a shared object, or C that cc compiles; SYMBOL (default: solve) is called with what --arg says, in that "
     "order. It runs in a process of its own, as in ridge check, on inputs that are new for every launch. Each launch "
     "is "
     "repeated on the same inputs: other outputs, outputs that are not written, and writes beside them are verdicts. "
     "Whether its results are right is not known here.",
     "  ridge time mine.c:scale --arg f32[1Kx1K] --arg out:f32[1Kx1K] --arg i32=1M\n"
     "  ridge time ./mine.so:sum --arg f32[1K..1M] --arg out:f32[1] --arg i64=1K..1M\n",
     ridge_cmd_time, NULL},
    {"exploits", 'x', "Judge a folder of kernels that cheat: is each caught, no honest one blamed?", "TARGET FOLDER",
     "Every .c, .cu and .py file of the folder is judged as ridge check does, on the edge cases and on --sizes, and a "
     "table says "
     "how it was "
     "caught. Files whose names begin with honest are controls. ridge's own collection is tests/exploits, for "
     "fused_l2norm. "
     "Status 1: a cheat was missed, an honest kernel blamed, or one did not run.",
     "  ridge exploits fused_l2norm tests/exploits --sizes 512x1024\n", ridge_cmd_exploits, ridge_pattern_words},
    {"diff", 'i', "Compare two saved runs; status 1 if something became slower.", "BEFORE.json AFTER.json",
     "Optimized variants are compared by their speedups over the same baseline, others by their times if both runs "
     "measured them three times or more (--repeat).",
     "  ridge run ch09 --repeat 3 --json before.json\n"
     "  ridge run ch09 --repeat 3 --json after.json\n"
     "  ridge diff before.json after.json\n",
     ridge_cmd_diff, NULL},
    {"replay", 'y', "Derive a saved run again from its samples; status 3 if it was edited.", "RUN.json",
     "Prints what the run printed, byte for byte, without its hardware. Every interval, placement, speedup and verdict "
     "is "
     "derived from the samples and compared with the file, and so is the chain of hashes over what was measured.",
     "  ridge run ch09 --json run.json\n  ridge replay run.json\n  ridge replay run.json --output report\n",
     ridge_cmd_replay, NULL},
    {"new", 'w', "Write the folder of a target that builds and passes, to be changed into yours.", "[FOLDER/]NAME",
     "The folder has a descriptor with cases, oracle and bound, a baseline and an optimized variant for CPUs, and a "
     "README. "
     "The build finds it with -DRIDGE_EXTRA_TARGETS=FOLDER. What exists is left alone.",
     "  ridge new ~/targets/my_rows\n", ridge_cmd_new, NULL},
    {"doctor", 'd', "What makes measurements on this machine unreliable, and what to do.", "",
     "Checks the governor, turbo, virtual machine, other load, limits, counters and optional programs.",
     "  ridge doctor\n  ridge doctor --json -\n", ridge_cmd_doctor, NULL},
    {"completion", 's', "The completion script for bash, zsh or fish.", "SHELL",
     "Prints a script that completes commands, options, their values and targets. An installed ridge brings the "
     "scripts "
     "along.",
     "  source <(ridge completion bash)\n"
     "  ridge completion zsh >~/.zsh/completions/_ridge\n"
     "  ridge completion fish >~/.config/fish/completions/ridge.fish\n",
     ridge_cmd_completion, ridge_shell_words},
    {"help", 'h', "The options and examples of a command.", "[COMMAND]",
     "'ridge help COMMAND' and 'ridge COMMAND --help' print the same.", "  ridge help\n  ridge help run\n",
     ridge_cmd_help, ridge_command_words},
};
const int ridge_command_count = sizeof ridge_commands / sizeof ridge_commands[0];

void ridge_command_words(ridge_words *words) {
    for (int i = 0; i < ridge_command_count; i++) ridge_words_add(words, ridge_commands[i].name);
}

ridge_status ridge_command_find(const char *typed, const ridge_command **command, ridge_error *error) {
    for (int i = 0; i < ridge_command_count; i++)
        if (strcmp(typed, ridge_commands[i].name) == 0) return *command = &ridge_commands[i], RIDGE_OK;
    ridge_words words = {0};
    char hint[80];
    ridge_pattern_words(&words);
    if (ridge_words_find(&words, typed) >= 0)
        return ridge_fail(error, RIDGE_INVALID, "'%.60s' is no command but selects targets: write ridge run %.60s",
                          typed, typed);
    if (typed[0] == '-')
        return ridge_fail(error, RIDGE_INVALID, "'%.60s' stands before the command: write ridge COMMAND %.60s", typed,
                          typed);
    words.n = 0;
    ridge_command_words(&words);
    return ridge_fail(error, RIDGE_INVALID, "'%.60s' is not a command%s (ridge --help lists them)", typed,
                      ridge_words_hint(&words, typed, hint, sizeof hint));
}
