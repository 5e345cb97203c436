/* Gradients of layer_norm without an activation: dx, dgamma and dbeta from x, gamma and dy
 * x, dy, dx: [rows, cols], gamma, dgamma, dbeta: [cols]. See README.md. */
#define NORM_BACK_NAME layer_norm_backward
#define NORM_BACK_CENTERED 1
#define NORM_BACK_SUMMARY "gradients of layer norm: dx, dgamma and dbeta in one pass"
#include "norm_backward/target.h"
