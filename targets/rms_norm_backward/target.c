/* Gradients of rms_norm without an activation: dx and dgamma from x, gamma and dy
 * x, dy, dx: [rows, cols], gamma, dgamma: [cols]. See README.md. */
#define NORM_BACK_NAME rms_norm_backward
#define NORM_BACK_CENTERED 0
#define NORM_BACK_SUMMARY "gradients of RMS norm: dx and dgamma in one pass"
#include "norm_backward/target.h"
