"""Mathematics of the standard library."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table

TABLES = {
    "math": Table(
        """
            acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
            expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm
            ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt
            sumprod tan tanh tau trunc ulp
        """
    ),
    "cmath": Table(
        """
            acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan nanj
            phase pi polar rect sin sinh sqrt tan tanh tau
        """
    ),
    "decimal": Table(
        """
            BasicContext Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple DefaultContext
            DivisionByZero DivisionImpossible DivisionUndefined ExtendedContext FloatOperation getcontext
            HAVE_CONTEXTVAR HAVE_THREADS Inexact InvalidContext InvalidOperation localcontext MAX_EMAX MAX_PREC MIN_EMIN
            MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN
            ROUND_HALF_UP ROUND_UP Rounded setcontext Subnormal Underflow
        """
    ),
    "fractions": Table("Fraction"),
    "numbers": Table("Complex Integral Number Rational Real"),
    "statistics": Table(
        """
            correlation covariance fmean geometric_mean harmonic_mean kde kde_random linear_regression mean median
            median_grouped median_high median_low mode multimode NormalDist pstdev pvariance quantiles StatisticsError
            stdev variance
        """
    ),
    "random": Table(
        """
            betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits getstate
            lognormvariate normalvariate paretovariate randbytes randint Random random randrange sample seed setstate
            shuffle SystemRandom triangular TWOPI uniform vonmisesvariate weibullvariate
        """,
        note="SystemRandom and seed-less generators read the kernel; a deterministic policy refuses them.",
    ),
    "colorsys": Table("hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb"),
}
