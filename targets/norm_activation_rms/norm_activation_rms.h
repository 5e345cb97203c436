/* Constants shared by the descriptor and the kernels of norm_activation_rms. */
#ifndef RIDGE_TARGETS_NORM_ACTIVATION_RMS_H
#define RIDGE_TARGETS_NORM_ACTIVATION_RMS_H

#define NORM_EPS 1e-5f

#endif
