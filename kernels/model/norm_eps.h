/* Of norms without options: what layer norm and RMS norm add to the mean square under the root, and the least that an
 * l2 norm is taken for. Of C and CUDA. */
#ifndef RIDGE_MODEL_NORM_EPS_H
#define RIDGE_MODEL_NORM_EPS_H

#define NORM_EPS 1e-5f
#define NORM_L2_EPS 1e-12f

#endif
