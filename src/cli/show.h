/* What run, compare, roofline and check print of a run; also of one that was saved. */
#ifndef RIDGE_CLI_SHOW_H
#define RIDGE_CLI_SHOW_H

#include "record/record.h"
#include "report/page.h"

/* As the command of that name does; as run does, if it is none of these. */
void ridge_show(const char *command, const ridge_run *run, const ridge_page *page);

#endif
