/* What layer norm and RMS norm add to the mean square under the root. Of C and CUDA. */
#ifndef RIDGE_MODEL_NORM_EPS_H
#define RIDGE_MODEL_NORM_EPS_H

#define NORM_EPS 1e-5f

#endif
