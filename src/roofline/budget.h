/* How long a case will take, and how a whole run's time is shared among its cases (--within).
 *
 * A forecast comes from the work model and the ceilings, with the efficiency that a role usually has. Finished cases
 * correct it. A budget starts a case only if the forecasts of it and of the cases after it fit the time that is left;
 * where they do not, the longest cases are passed over. The cases that stay get equal shares, or what their least
 * number of rounds takes where that is more. Pure functions of their arguments: no clock is read here. */
#ifndef RIDGE_ROOFLINE_BUDGET_H
#define RIDGE_ROOFLINE_BUDGET_H

#include "machine/ceilings/ceilings.h"
#include "measure/job.h"

typedef struct ridge_forecast {
    double checks_s; /* start of the worker, fills, first checks, comparison of outputs */
    double round_s;  /* one round, with its fills and the checks of its samples */
} ridge_forecast;

/* own: ceilings of the job's backend; host: of the CPU, which checks and fills. A rate that was not measured, or a
 * NULL, becomes a nominal one. Right within a factor of about two. */
ridge_forecast ridge_forecast_job(const ridge_job *job, const ridge_ceilings *own, const ridge_ceilings *host);

typedef enum ridge_plan_state {
    RIDGE_PLAN_WAITS,
    RIDGE_PLAN_PASSED_OVER, /* did not fit when it was its turn */
    RIDGE_PLAN_STARTED,
} ridge_plan_state;

/* One case of a budget. */
typedef struct ridge_planned {
    const ridge_target *target;
    ridge_case c;
    ridge_backend backend;
    int measurement; /* of that case, from 0 on */
    ridge_forecast forecast;
    int least_rounds;
    double max_time; /* its share: seconds of rounds. Before it is started: the most that it may get */
    double patience; /* as in ridge_job; before it is started: the most */
    ridge_plan_state state;
    /* From its start to its end, and for its rounds; 0: not started, or interrupted. */
    double taken_s, rounds_s;
    int rounds;
} ridge_planned;

typedef struct ridge_budget {
    double within_s; /* 0: there is no budget */
    ridge_planned *cases;
    int n;
    /* Of finished cases, by backend, the last ones weighing most: forecast seconds of checks and least rounds, and by these the
     * logarithms of how many times as long they took. One case whose forecast is far off says little of the others. */
    double forecast_s[RIDGE_BACKEND_COUNT], log_s[RIDGE_BACKEND_COUNT];
} ridge_budget;

/* Seconds of a case's checks and least rounds, corrected by what finished cases took. */
double ridge_budget_least_s(const ridge_budget *budget, const ridge_planned *planned);

/* The case to start when left_s seconds are left, with its share set; -1: none that fits. Cases come in order; those
 * that were passed over get a second chance after the last one, the shortest first. */
int ridge_budget_next(ridge_budget *budget, double left_s);

/* Corrects forecasts by a finished case. Not for one whose variants crashed or hung. */
void ridge_budget_learn(ridge_budget *budget, const ridge_planned *finished);

#endif
