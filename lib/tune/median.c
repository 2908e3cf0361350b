/* SPDX-License-Identifier: BSD-2-Clause */
#include "median.h"

void
tune_sort(double *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		double x = v[i];
		uint32_t k = i;
		for (; k > 0 && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

double
tune_median(double *v, uint32_t n)
{
	tune_sort(v, n);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double
tune_ratio(double a, double b)
{
	if (a <= 0)
		return 0;
	return b <= 0 || a > b * TUNE_RATIO_MAX ? TUNE_RATIO_MAX : a / b;
}
