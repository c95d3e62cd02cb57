"""sympy and mpmath: symbolic and arbitrary-precision mathematics. Many functions evaluate text."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, INTERNAL, INTERPRETER, LIBRARY_TESTS, PROCESS

_SHARED = {
    "sympy.core": """
        Add AlgebraicNumber arity Atom AtomicExpr Basic bottom_up cacheit Catalan check_assumptions comp count_ops
        default_sort_key Derivative Dict diff Dummy E Eq Equality EulerGamma evaluate expand expand_complex expand_func
        expand_log expand_mul expand_multinomial expand_power_base expand_power_exp expand_trig Expr factor_nc
        factor_terms failing_assumptions Float Function FunctionClass gcd_terms Ge GoldenRatio GreaterThan Gt I igcd
        ilcm Integer integer_log integer_nthroot Lambda Le LessThan Lt Mod mod_inverse Mul N nan Ne nfloat num_digits
        Number NumberSymbol oo ordered pi PoleError postorder_traversal Pow PrecisionExhausted preorder_traversal prod
        Rational RealNumber Rel seterr StrictGreaterThan StrictLessThan Subs Symbol symbols SympifyError trailing
        TribonacciConstant Tuple Unequality UnevaluatedExpr use var vectorize Wild WildFunction zoo
    """,
    "sympy.functions": """
        Abs acos acosh acot acoth acsc acsch adjoint airyai airyaiprime airybi airybiprime andre appellf1 arg asec asech
        asin asinh assoc_laguerre assoc_legendre atan atan2 atanh bell bernoulli besseli besselj besselk bessely beta
        betainc betainc_regularized binomial bspline_basis bspline_basis_set carmichael catalan cbrt ceiling chebyshevt
        chebyshevt_root chebyshevu chebyshevu_root Chi Ci conjugate cos cosh cot coth csc csch digamma DiracDelta
        dirichlet_eta divisor_sigma E1 Ei Eijk elliptic_e elliptic_f elliptic_k elliptic_pi erf erf2 erf2inv erfc
        erfcinv erfi erfinv euler exp exp_polar expint factorial factorial2 FallingFactorial ff fibonacci floor frac
        fresnelc fresnels gamma gegenbauer genocchi hankel1 hankel2 harmonic Heaviside hermite hermite_prob hn1 hn2
        hyper Id im interpolating_spline jacobi jacobi_normalized jacobi_symbol jn jn_zeros kronecker_symbol
        KroneckerDelta laguerre LambertW legendre legendre_symbol lerchphi LeviCivita Li li ln log loggamma lowergamma
        lucas marcumq mathieuc mathieucprime mathieus mathieusprime Max meijerg Min mobius motzkin multigamma partition
        periodic_argument Piecewise piecewise_exclusive piecewise_fold polar_lift polarify polygamma polylog primenu
        primeomega primepi principal_branch re real_root reduced_totient Rem rf riemann_xi RisingFactorial root sec sech
        Shi Si sign sin sinc SingularityFunction sinh sqrt stieltjes subfactorial tan tanh totient transpose tribonacci
        trigamma unbranched_argument unpolarify uppergamma yn Ynm Ynm_c zeta Znm
    """,
    "sympy.integrals": """
        cosine_transform CosineTransform fourier_transform FourierTransform hankel_transform HankelTransform Integral
        integrate inverse_cosine_transform inverse_fourier_transform inverse_hankel_transform inverse_laplace_transform
        inverse_mellin_transform inverse_sine_transform InverseCosineTransform InverseFourierTransform
        InverseHankelTransform InverseLaplaceTransform InverseMellinTransform InverseSineTransform
        laplace_correspondence laplace_initial_conds laplace_transform LaplaceTransform line_integrate mellin_transform
        MellinTransform sine_transform SineTransform singularityintegrate
    """,
    "sympy.matrices": """
        Adjoint banded block_collapse blockcut BlockDiagMatrix BlockMatrix casoratian DeferredVector det Determinant
        diag DiagMatrix diagonalize_vector DiagonalMatrix DiagonalOf DotProduct eye FunctionMatrix GramSchmidt
        hadamard_product HadamardPower HadamardProduct hessian Identity ImmutableDenseMatrix ImmutableMatrix
        ImmutableSparseMatrix Inverse jordan_cell kronecker_product KroneckerProduct list2numpy MatAdd MatMul MatPow
        Matrix matrix2numpy matrix_multiply_elementwise matrix_symbols MatrixBase MatrixExpr MatrixPermute MatrixSlice
        MatrixSymbol MutableDenseMatrix MutableMatrix MutableSparseMatrix NonSquareMatrixError OneMatrix ones per
        Permanent PermutationMatrix randMatrix rot_axis1 rot_axis2 rot_axis3 rot_ccw_axis1 rot_ccw_axis2 rot_ccw_axis3
        rot_givens ShapeError SparseMatrix symarray Trace trace Transpose wronskian ZeroMatrix zeros
    """,
    "sympy.ntheory": """
        abundance binomial_coefficients binomial_coefficients_list composite compositepi continued_fraction
        continued_fraction_convergents continued_fraction_iterator continued_fraction_periodic continued_fraction_reduce
        cycle_length discrete_log divisor_count divisor_sigma divisors egyptian_fraction factor_cache factorint
        factorrat is_abundant is_amicable is_carmichael is_deficient is_mersenne_prime is_nthpow_residue is_perfect
        is_primitive_root is_quad_residue isprime jacobi_symbol legendre_symbol mersenne_prime_exponent mobius
        multinomial_coefficients multiplicity n_order nextprime npartitions nthroot_mod perfect_power pollard_pm1
        pollard_rho prevprime prime primefactors primenu primeomega primepi primerange primitive_root primorial
        proper_divisor_count proper_divisors quadratic_congruence quadratic_residues randprime reduced_totient Sieve
        sieve sqrt_mod sqrt_mod_iter totient
    """,
    "sympy.polys": """
        AlgebraicField all_roots apart apart_list assemble_partfrac_list BasePolynomialError cancel CC chebyshevt_poly
        chebyshevu_poly CoercionFailed cofactors ComplexField ComplexRootOf compose ComputationFailed construct_domain
        content count_roots CRootOf cyclotomic_poly decompose degree degree_list discriminant div Domain DomainError
        EvaluationFailed EX ExactQuotientFailed ExpressionDomain exquo EXRAW ExtraneousFactors factor factor_list FF
        FF_gmpy FF_python field field_isomorphism FiniteField FlagError FractionField galois_group gcd gcd_list gcdex
        GeneratorsError GeneratorsNeeded GF gff gff_list GMPYFiniteField GMPYIntegerRing GMPYRationalField grevlex grlex
        groebner GroebnerBasis ground_roots half_gcdex hermite_poly hermite_prob_poly HeuristicGCDFailed
        HomomorphismFailed horner igrevlex igrlex ilex IntegerRing interpolate interpolating_poly intervals invert
        is_zero_dimensional isolate IsomorphismFailed itermonomials jacobi_poly laguerre_poly LC lcm lcm_list
        legendre_poly lex LM LT minimal_polynomial minpoly monic Monomial MultivariatePolynomialError NotAlgebraic
        NotInvertible NotReversible nroots nth_power_roots_poly OperationNotSupported OptionError Options
        parallel_poly_from_expr pdiv pexquo PolificationFailed Poly poly poly_from_expr PolynomialDivisionFailed
        PolynomialError PolynomialRing pquo prem prime_decomp prime_valuation primitive primitive_element PurePoly
        PythonFiniteField PythonIntegerRing PythonRational QQ QQ_gmpy QQ_I QQ_python quo random_poly
        rational_interpolate RationalField real_roots RealField reduced refine_root RefinementFailed rem resultant ring
        RootOf rootof roots RootSum round_two RR sfield sqf sqf_list sqf_norm sqf_part sring sturm subresultants
        swinnerton_dyer_poly symmetric_poly symmetrize terms_gcd to_number_field together total_degree trunc
        UnificationFailed UnivariatePolynomialError vfield viete vring xfield xring ZZ ZZ_gmpy ZZ_I ZZ_python
    """,
    "sympy.solvers": """
        check_assumptions checkodesol checkpdesol checksol classify_ode classify_pde Complexes decompogen det_quick
        diophantine dsolve factor_system failing_assumptions homogeneous_order inv_quick linear_eq_to_matrix linsolve
        nonlinsolve nsolve ode_order pde_separate pde_separate_add pde_separate_mul pdsolve reduce_abs_inequalities
        reduce_abs_inequality reduce_inequalities rsolve rsolve_hyper rsolve_poly rsolve_ratio solve solve_linear
        solve_linear_system solve_linear_system_LU solve_poly_inequality solve_poly_system solve_rational_inequalities
        solve_triangulated solve_undetermined_coeffs solve_univariate_inequality solveset substitution
    """,
}
"""By package the names that `sympy` has, too."""

TABLES = {
    "sympy": Table(
        " ".join(_SHARED.values())
        + """
            AccumBounds And AppliedPredicate apply_finite_diff approximants are_similar Array ask assuming
            AssumptionsContext besselsimp bool_map capture cartes ccode centroid Circle closest_points collect
            collect_const combsimp Complement ComplexRegion ConditionSet Contains convex_hull convolution
            covering_product cse Curve cxxcode deg denom DenseNDimArray derive_by_array dict_merge difference_delta
            differentiate_finite DisjointUnion dotprint Ellipse EmptySequence EmptySet EPath epath Equivalent
            euler_equations exptrigsimp false farthest_points fcode fft filldedent finite_diff_weights FiniteSet flatten
            fourier_series fps fraction FU fu fwht gammasimp GeometryError get_contraction_structure get_indices
            glsl_code group gruntz has_dups has_variety hyperexpand hypersimilar hypersimp idiff Idx ifft ifwht ImageSet
            imageset ImmutableDenseNDimArray ImmutableSparseNDimArray Implies Indexed IndexedBase init_printing Integers
            intersecting_product Intersection intersection Interval intt inverse_mobius_transform is_convex
            is_decreasing is_increasing is_monotonic is_strictly_decreasing is_strictly_increasing ITE jscode julia_code
            kroneckersimp latex Limit limit limit_seq Line Line2D Line3D logcombine maple_code mathematica_code mathml
            maximum memoize_property minimum mobius_transform multiline_latex MutableDenseNDimArray
            MutableSparseNDimArray Nand Naturals Naturals0 NDimArray Nor Not not_empty_in ntt numbered_symbols numer O
            octave_code OmegaPower Or ord0 Order Ordinal Parabola periodicity permutedims Plane plot plot_backends
            plot_implicit plot_parametric Point Point2D Point3D Polygon POSform posify postfixes powdenest PowerSet
            powsimp pprint pprint_try_use_unicode pprint_use_unicode Predicate prefixes pretty pretty_print print_ccode
            print_fcode print_glsl print_jscode print_latex print_maple_code print_mathml print_python print_rcode
            print_tree Product product ProductSet pycode python Q Quaternion rad radsimp Range Rationals ratsimp
            ratsimpmodprime Ray Ray2D Ray3D rcode rcollect Reals refine register_handler RegularPolygon remove_handler
            reshape residue rotations rust_code satisfiable Segment Segment2D Segment3D separatevars SeqAdd SeqFormula
            SeqMul SeqPer sequence series Set shape sift signsimp simplify simplify_logic singularities smtlib_code
            SOPform SparseNDimArray sqrtdenest srepr sstr sstrrepr stationary_points StrPrinter subsets Sum summation
            SymmetricDifference TableForm take tensorcontraction tensordiagonal tensorproduct textplot threaded timed
            to_cnf to_dnf to_nnf topological_sort Triangle trigsimp true unflatten Union UniversalSet variations Xor
            xthreaded
        """,
        evaluates="lambdify nsimplify parse_expr S sympify",
        refuse={
            "init_session interactive_traversal pager_print": DISPLAY,
            "public": INTERPRETER,
            "doctest test": LIBRARY_TESTS,
            "preview print_gtk": PROCESS,
        },
    ),
    "sympy.abc": Table(
        """
            A a alpha B b beta C c chi D d delta E e epsilon eta F f G g gamma greeks H h I i iota J j K k kappa L l
            lamda M m mu N n ns nu O o omega omicron P p phi pi psi Q q R r rho s sigma T t tau theta U u upsilon V v W
            w X x xi Y y Z z zeta
        """,
        evaluates="S",
    ),
    "sympy.algebras": Table("Quaternion"),
    "sympy.assumptions": Table(
        """
            AppliedBinaryRelation AppliedPredicate ask assuming AssumptionsContext BinaryRelation global_assumptions
            Predicate Q refine register_handler remove_handler
        """
    ),
    "sympy.calculus": Table(
        """
            AccumBounds apply_finite_diff differentiate_finite euler_equations finite_diff_weights is_convex
            is_decreasing is_increasing is_monotonic is_strictly_decreasing is_strictly_increasing maximum minimum
            not_empty_in periodicity singularities stationary_points
        """
    ),
    "sympy.calculus.util": Table(
        "continuous_domain function_range is_convex lcim maximum minimum not_empty_in periodicity stationary_points"
    ),
    "sympy.combinatorics": Table(
        """
            AbelianGroup alternating AlternatingGroup Collector Coset cube Cycle cyclic CyclicGroup dihedral
            DihedralGroup DirectProduct dodecahedron free_group GrayCode icosahedron IntegerPartition octahedron
            Partition Permutation PermutationGroup PolycyclicGroup Polyhedron Prufer RGS_enum RGS_rank RGS_unrank
            RubikGroup Subset symmetric SymmetricGroup SymmetricPermutationGroup tetrahedron
        """
    ),
    "sympy.concrete": Table("Product product Sum summation"),
    "sympy.core": Table(
        _SHARED["sympy.core"] + " assumptions BooleanKind common_assumptions NumberKind UndefinedKind",
        evaluates="S sympify",
    ),
    "sympy.crypto": Table(
        """
            bg_private_key bg_public_key bifid10 bifid5 bifid5_square bifid6 bifid6_square bifid_square check_and_join
            cycle_list decipher_atbash decipher_bg decipher_bifid decipher_bifid5 decipher_bifid6 decipher_elgamal
            decipher_gm decipher_hill decipher_kid_rsa decipher_railfence decipher_rot13 decipher_rsa decipher_vigenere
            decode_morse dh_private_key dh_public_key dh_shared_key elgamal_private_key elgamal_public_key
            encipher_affine encipher_atbash encipher_bg encipher_bifid encipher_bifid5 encipher_bifid6 encipher_elgamal
            encipher_gm encipher_hill encipher_kid_rsa encipher_railfence encipher_rot13 encipher_rsa encipher_shift
            encipher_substitution encipher_vigenere encode_morse gm_private_key gm_public_key kid_rsa_private_key
            kid_rsa_public_key lfsr_autocorrelation lfsr_connection_polynomial lfsr_sequence padded_key rsa_private_key
            rsa_public_key
        """
    ),
    "sympy.diffgeom": Table(
        """
            BaseCovarDerivativeOp BaseScalarField BaseVectorField Commutator contravariant_order CoordinateSymbol
            CoordSystem CovarDerivativeOp covariant_order Differential intcurve_diffequ intcurve_series LieDerivative
            Manifold metric_to_Christoffel_1st metric_to_Christoffel_2nd metric_to_Ricci_components
            metric_to_Riemann_components Patch Point TensorProduct twoform_to_matrix vectors_in_basis WedgeProduct
        """
    ),
    "sympy.discrete": Table(
        """
            convolution covering_product fft fwht ifft ifwht intersecting_product intt inverse_mobius_transform
            mobius_transform ntt
        """
    ),
    "sympy.functions": Table(_SHARED["sympy.functions"] + " udivisor_sigma"),
    "sympy.functions.combinatorial": Table(),
    "sympy.functions.elementary": Table(),
    "sympy.functions.special": Table(),
    "sympy.geometry": Table(
        """
            are_similar centroid Circle closest_points convex_hull Curve deg Ellipse farthest_points GeometryError idiff
            intersection Line Line2D Line3D Parabola Plane Point Point2D Point3D Polygon rad Ray Ray2D Ray3D
            RegularPolygon Segment Segment2D Segment3D Triangle
        """
    ),
    "sympy.integrals": Table(_SHARED["sympy.integrals"]),
    "sympy.integrals.transforms": Table(
        """
            cosine_transform CosineTransform fourier_transform FourierTransform FourierTypeTransform hankel_transform
            HankelTransform HankelTypeTransform IntegralTransform IntegralTransformError inverse_cosine_transform
            inverse_fourier_transform inverse_hankel_transform inverse_mellin_transform inverse_sine_transform
            InverseCosineTransform InverseFourierTransform InverseHankelTransform InverseMellinTransform
            InverseSineTransform mellin_transform MellinTransform MellinTransformStripError sine_transform
            SineCosineTypeTransform SineTransform
        """
    ),
    "sympy.logic": Table(
        """
            And bool_map Equivalent false gateinputcount Implies ITE Nand Nor Not Or POSform satisfiable simplify_logic
            SOPform to_cnf to_dnf to_nnf true Xor
        """
    ),
    "sympy.logic.boolalg": Table(
        """
            And anf_coeffs ANFform as_Boolean bool_map bool_maxterm bool_minterm bool_monomial Boolean BooleanAtom
            BooleanFalse BooleanFunction BooleanTrue conjuncts disjuncts distribute_and_over_or distribute_or_over_and
            distribute_xor_over_and eliminate_implications Equivalent Exclusive false gateinputcount Implies is_anf
            is_cnf is_dnf is_literal is_nnf ITE Nand Nor Not Or POSform simplify_logic simplify_univariate SOPform
            term_to_integer to_anf to_cnf to_dnf to_int_repr to_nnf true truth_table Xnor Xor
        """,
        refuse={"BooleanGates TYPE_CHECKING": INTERNAL},
    ),
    "sympy.matrices": Table(_SHARED["sympy.matrices"] + " dotprodsimp MatrixKind MatrixSet"),
    "sympy.ntheory": Table(
        _SHARED["sympy.ntheory"]
        + """
            count_digits digits dra drm ecm is_gaussian_prime is_palindromic multiplicity_in_factorial
            polynomial_congruence qs qs_factor
        """
    ),
    "sympy.ntheory.factor_": Table(
        """
            abundance antidivisor_count antidivisors core divisor_count divisor_sigma divisors dra drm factor_cache
            FactorCache factorint factorrat find_carmichael_numbers_in_range find_first_n_carmichaels is_abundant
            is_amicable is_carmichael is_deficient is_perfect mersenne_prime_exponent multiplicity
            multiplicity_in_factorial perfect_power pollard_pm1 pollard_rho primefactors primenu primeomega
            proper_divisor_count proper_divisors reduced_totient smoothness smoothness_p totient udivisor_count
            udivisor_sigma udivisors
        """,
        refuse={
            "complete_msg ecm_msg factor_msg fermat_msg MERSENNE_PRIME_EXPONENTS pm1_msg rho_msg SYMPY_INTS "
            "trial_int_msg trial_msg": INTERNAL
        },
    ),
    "sympy.ntheory.modular": Table("crt crt1 crt2 solve_congruence symmetric_residue"),
    "sympy.parsing": Table(evaluates="parse_expr"),
    "sympy.parsing.sympy_parser": Table(
        """
            AppliedFunction auto_number auto_symbol convert_equals_signs convert_xor evaluateFalse
            EvaluateFalseTransformer factorial_notation function_exponentiation implicit_application
            implicit_multiplication implicit_multiplication_application lambda_notation ParenthesisGroup rationalize
            repeated_decimals split_symbols split_symbols_custom standard_transformations T
        """,
        evaluates="eval_expr parse_expr stringify_expr",
        refuse={"ENDMARKER ERRORTOKEN iskeyword NAME NEWLINE null NUMBER OP STRING transformations": INTERNAL},
    ),
    "sympy.parsing.latex": Table(
        "check_matrix_delimiters LarkLaTeXParser LaTeXParsingError parse_latex parse_latex_lark TransformToSymPyExpr",
        refuse={
            "BEGIN_AMS_MAT BEGIN_ARR BEGIN_DELIM_REPR END_AMS_MAT END_ARR END_DELIM_REPR IGNORE_L IGNORE_R "
            "MATRIX_DELIMS MATRIX_DELIMS_INV NO_LEFT": INTERNAL
        },
    ),
    "sympy.physics": Table("mdft mgamma minkowski_tensor msigma"),
    "sympy.physics.units": Table(
        """
            A acceleration acceleration_due_to_gravity action amount amount_of_substance ampere amperes amu amus
            angstrom angstroms angular_mil angular_mils anomalistic_year anomalistic_years area astronomical_unit
            astronomical_units atm atmosphere atmospheres atomic_mass_constant atomic_mass_unit atto au avogadro
            avogadro_constant avogadro_number bar bars becquerel bit bits boltzmann boltzmann_constant Bq byte C c
            candela candelas capacitance cd centi centiliter centiliters centimeter centimeters charge cL cl cm
            common_year common_years conductance convert_to coulomb coulomb_constant coulombs current D Da dalton day
            days deca deci deciliter deciliters decimeter decimeters deg degree degrees dHg0 Dimension DimensionSystem
            dioptre dL dl dm draconic_year draconic_years e0 electric_constant electric_force_constant
            electron_rest_mass electronvolt electronvolts elementary_charge energy eV exa exbi exbibyte exbibytes F
            farad faraday_constant farads feet femto foot force frequency ft full_moon_cycle full_moon_cycles G g
            gaussian_year gaussian_years gee gees gibi gibibyte gibibytes giga gram grams gravitational_constant gray Gy
            H h ha hbar hectare hecto henry henrys hertz hour hours Hz hz impedance inch inches inductance J
            josephson_constant joule joules julian_year julian_years K kat katal kelvin kelvins kg kibi kibibyte
            kibibytes kilo kilogram kilograms kilometer kilometers km kPa L l length lightyear lightyears liter liters
            luminosity luminous_intensity lux lx ly m magnetic_constant magnetic_density magnetic_flux
            magnetic_flux_density mass me mebi mebibyte mebibytes mega meter meters metric_ton mg mho mhos mi micro
            microgram micrograms micrometer micrometers micron microns microsecond microseconds mil mile miles milli
            milli_mass_unit milligram milligrams milliliter milliliters millimeter millimeters millisecond milliseconds
            minute minutes mL ml mm mmHg mmu mmus mol molar_gas_constant mole moles momentum ms N nano nanometer
            nanometers nanosecond nanoseconds nautical_mile nautical_miles newton newtons nm nmi ns ohm ohms
            optical_power Pa pa pascal pascals pebi pebibyte pebibytes percent percents permille peta pico picometer
            picometers picosecond picoseconds planck planck_acceleration planck_angular_frequency planck_area
            planck_charge planck_current planck_density planck_energy planck_energy_density planck_force
            planck_impedance planck_intensity planck_length planck_mass planck_momentum planck_power planck_pressure
            planck_temperature planck_time planck_voltage planck_volume pm pound pounds power pressure ps psi Quantity
            quart quarts R rad radian radians s second seconds sidereal_year sidereal_years siemens speed speed_of_light
            sr stefan stefan_boltzmann_constant steradian steradians T t tebi tebibyte tebibytes temperature tera tesla
            teslas time tonne torr tropical_year tropical_years u0 ug um Unit UnitSystem us V v vacuum_impedance
            vacuum_permeability vacuum_permittivity velocity volt voltage volts volume von_klitzing_constant W watt
            watts Wb wb weber webers yard yards yd year years yocto yotta Z0 zepto zetta
        """,
        evaluates="S",
    ),
    "sympy.physics.mechanics": Table(
        """
            ActuatorBase angular_momentum Body CoordinateSym CoulombKineticFriction cross curl CylindricalJoint
            divergence dot DuffingSpring Dyadic dynamicsymbols express find_dynamicsymbols Force ForceActuator
            get_motion_params gradient Inertia inertia inertia_of_point_mass init_vprinting is_conservative
            is_solenoidal JointsMethod KanesMethod kinematic_equations kinetic_energy LagrangesMethod Lagrangian
            linear_momentum LinearDamper Linearizer LinearPathway LinearSpring mechanics_printing mlatex mpprint mprint
            msprint msubs ObstacleSetPathway outer partial_velocity Particle PathwayBase PinJoint PlanarJoint Point
            potential_energy PrismaticJoint ReferenceFrame RigidBody scalar_potential scalar_potential_difference
            SphericalJoint SymbolicSystem System time_derivative Torque TorqueActuator Vector vlatex vpprint vprint
            vsprint vsstrrepr WeldJoint WrappingCylinder WrappingGeometryBase WrappingPathway WrappingSphere
        """
    ),
    "sympy.physics.quantum": Table(
        """
            AntiCommutator Bra BraBase Commutator ComplexSpace Dagger DifferentialOperator DirectSumHilbertSpace
            enumerate_states FockSpace get_basis HBar hbar HermitianOperator HilbertSpace HilbertSpaceError
            IdentityOperator InnerProduct integrate_result Ket KetBase L2 Operator OrthogonalBra OrthogonalKet
            OrthogonalState OuterProduct qapply rep_expectation rep_innerproduct represent State StateBase
            tensor_product_simp TensorPowerHilbertSpace TensorProduct TensorProductHilbertSpace TimeDepBra TimeDepKet
            TimeDepState UnitaryOperator Wavefunction
        """
    ),
    "sympy.plotting": Table(
        """
            plot plot3d plot3d_parametric_line plot3d_parametric_surface plot_backends plot_contour plot_implicit
            plot_parametric PlotGrid PygletPlot textplot
        """
    ),
    "sympy.polys": Table(
        _SHARED["sympy.polys"] + " andre_poly bernoulli_c_poly bernoulli_poly euler_poly genocchi_poly"
    ),
    "sympy.polys.polytools": Table(
        """
            all_roots cancel cofactors compose content count_roots decompose degree degree_list discriminant div exquo
            factor factor_list gcd gcd_list gcdex gff gff_list groebner GroebnerBasis ground_roots half_gcdex intervals
            invert is_zero_dimensional LC lcm lcm_list LM LT monic nroots nth_power_roots_poly parallel_poly_from_expr
            pdiv pexquo Poly poly poly_from_expr pquo prem primitive PurePoly quo real_roots reduced refine_root rem
            resultant sqf sqf_list sqf_norm sqf_part sturm subresultants terms_gcd total_degree trunc
        """
    ),
    "sympy.printing": Table(
        """
            ccode cxxcode dotprint fcode glsl_code jscode julia_code latex maple_code mathematica_code mathml
            multiline_latex octave_code pprint pprint_try_use_unicode pprint_use_unicode pretty pretty_print print_ccode
            print_fcode print_glsl print_jscode print_latex print_maple_code print_mathml print_python print_rcode
            print_tree pycode python rcode rust_code smtlib_code srepr sstr sstrrepr StrPrinter TableForm
        """,
        refuse={"pager_print": DISPLAY, "preview print_gtk": PROCESS},
    ),
    "sympy.series": Table(
        """
            approximants difference_delta EmptySequence fourier_series fps gruntz Limit limit limit_seq O Order residue
            SeqAdd SeqFormula SeqMul SeqPer sequence series
        """
    ),
    "sympy.sets": Table(
        """
            Complement ComplexRegion ConditionSet Contains DisjointUnion EmptySet FiniteSet ImageSet imageset Integers
            Intersection Interval Naturals Naturals0 OmegaPower ord0 Ordinal PowerSet ProductSet Range Rationals Reals
            Set SymmetricDifference Union UniversalSet
        """
    ),
    "sympy.simplify": Table(
        """
            besselsimp collect collect_const combsimp cse denom EPath epath exptrigsimp fraction FU fu gammasimp
            hyperexpand hypersimilar hypersimp kroneckersimp logcombine numer posify powdenest powsimp radsimp ratsimp
            ratsimpmodprime rcollect separatevars signsimp simplify sqrtdenest trigsimp
        """,
        evaluates="nsimplify",
    ),
    "sympy.solvers": Table(_SHARED["sympy.solvers"] + " linprog lpmax lpmin"),
    "sympy.solvers.solveset": Table(
        """
            domain_check invert_complex invert_real linear_coeffs linear_eq_to_matrix linsolve NonlinearError
            nonlinsolve solve_decomposition solveset solveset_complex solveset_real solvify substitution
        """
    ),
    "sympy.solvers.inequalities": Table(
        """
            reduce_abs_inequalities reduce_abs_inequality reduce_inequalities reduce_rational_inequalities
            solve_poly_inequalities solve_poly_inequality solve_rational_inequalities solve_univariate_inequality
        """
    ),
    "sympy.stats": Table(
        """
            Arcsin Benini Bernoulli BernoulliProcess Beta BetaBinomial BetaNoncentral BetaPrime Binomial BoundedPareto
            Cauchy cdf CentralMoment characteristic_function Chi ChiNoncentral ChiSquared CircularEnsemble
            CircularOrthogonalEnsemble CircularSymplecticEnsemble CircularUnitaryEnsemble cmoment Coin
            ContinuousDistributionHandmade ContinuousMarkovChain ContinuousRV correlation coskewness Covariance
            covariance CrossCovarianceMatrix Dagum Davis density dependent Die Dirichlet DiscreteDistributionHandmade
            DiscreteMarkovChain DiscreteRV DiscreteTimeStochasticProcess DiscreteUniform E entropy Erlang ExGaussian
            Expectation ExpectationMatrix Exponential ExponentialPower factorial_moment FDistribution
            FiniteDistributionHandmade FiniteRV FisherZ FlorySchulz Frechet Gamma GammaInverse GammaProcess
            GaussianEnsemble GaussianInverse GaussianOrthogonalEnsemble GaussianSymplecticEnsemble
            GaussianUnitaryEnsemble GeneralizedMultivariateLogGamma GeneralizedMultivariateLogGammaOmega
            GeneratorMatrixOf Geometric given Gompertz Gumbel H Hermite Hypergeometric IdealSoliton independent
            joint_eigen_distribution JointEigenDistribution JointRV Kumaraswamy kurtosis Laplace
            level_spacing_distribution Levy Logarithmic LogCauchy Logistic LogitNormal LogLogistic LogNormal Lomax
            marginal_distribution MatrixGamma MatrixNormal MatrixStudentT Maxwell median Moment moment
            moment_generating_function Moyal Multinomial MultivariateBeta MultivariateEwens MultivariateLaplace
            MultivariateNormal MultivariateT Nakagami NegativeBinomial NegativeMultinomial Normal NormalGamma P Pareto
            Poisson PoissonProcess PowerFunction Probability pspace QuadraticU quantile Rademacher RaisedCosine
            random_symbols Rayleigh Reciprocal RobustSoliton sample sample_iter sample_stochastic_process
            sampling_density ShiftedGompertz Skellam skewness smoment std StochasticProcess StochasticStateSpaceOf
            StudentT TransitionMatrixOf Trapezoidal Triangular Uniform UniformSum Variance variance VarianceMatrix
            VonMises Wald Weibull where WienerProcess WignerSemicircle Wishart YuleSimon Zeta
        """
    ),
    "sympy.tensor": Table(
        """
            Array DenseNDimArray derive_by_array get_contraction_structure get_indices Idx ImmutableDenseNDimArray
            ImmutableSparseNDimArray Indexed IndexedBase MutableDenseNDimArray MutableSparseNDimArray NDimArray
            permutedims shape SparseNDimArray tensorcontraction tensordiagonal tensorproduct
        """
    ),
    "sympy.utilities": Table(
        """
            capture cartes dict_merge filldedent flatten group has_dups has_variety memoize_property numbered_symbols
            postfixes prefixes reshape rotations sift subsets take threaded timed topological_sort unflatten variations
            xthreaded
        """,
        evaluates="lambdify",
        refuse={"public": INTERPRETER},
    ),
    "sympy.utilities.iterables": Table(
        """
            binary_partitions bracelets capture common_prefix common_suffix connected_components default_sort_key
            dict_merge filter_symbols flatten generate_bell generate_derangements generate_involutions
            generate_oriented_forest group has_dups has_variety ibin iproduct is_palindromic is_sequence iterable kbins
            least_rotation minlex multiset multiset_combinations multiset_derangements multiset_partitions
            multiset_permutations necklaces NotIterable numbered_symbols ordered ordered_partitions partitions
            permute_signs postfixes postorder_traversal prefixes random_derangement reshape rotate_left rotate_right
            rotations roundrobin runs sequence_partitions sequence_partitions_empty sift signed_permutations
            strongly_connected_components subsets take topological_sort unflatten uniq variations
        """,
        refuse={"interactive_traversal": DISPLAY},
    ),
    "sympy.utilities.lambdify": Table(
        "implemented_function lambdastr",
        evaluates="lambdify",
        refuse={
            "CMATH CMATH_DEFAULT CMATH_TRANSLATIONS CUPY CUPY_DEFAULT CUPY_TRANSLATIONS JAX JAX_DEFAULT "
            "JAX_TRANSLATIONS MATH MATH_DEFAULT MATH_TRANSLATIONS MODULES MPMATH MPMATH_DEFAULT MPMATH_TRANSLATIONS "
            "NUMEXPR NUMEXPR_DEFAULT NUMEXPR_TRANSLATIONS NUMPY NUMPY_DEFAULT NUMPY_TRANSLATIONS SCIPY SCIPY_DEFAULT "
            "SCIPY_TRANSLATIONS SYMPY SYMPY_DEFAULT TENSORFLOW TENSORFLOW_DEFAULT TENSORFLOW_TRANSLATIONS TORCH "
            "TORCH_DEFAULT TORCH_TRANSLATIONS": INTERNAL
        },
    ),
    "sympy.vector": Table(
        """
            AxisOrienter BaseDyadic BaseScalar BaseVector BodyOrienter CoordSys3D Cross cross Curl curl Del
            directional_derivative Divergence divergence Dot dot Dyadic DyadicAdd DyadicMul DyadicZero express Gradient
            gradient ImplicitRegion is_conservative is_solenoidal Laplacian laplacian matrix_to_vector
            parametric_region_list ParametricIntegral ParametricRegion Point QuaternionOrienter scalar_potential
            scalar_potential_difference SpaceOrienter Vector vector_integrate VectorAdd VectorKind VectorMul VectorZero
        """
    ),
    "mpmath": Table(
        """
            absmax absmin acos acosh acot acoth acsc acsch agm airyai airyaizero airybi airybizero almosteq altzeta
            angerj apery appellf1 appellf2 appellf3 appellf4 arange arg asec asech asin asinh atan atan2 atanh autoprec
            backlunds barnesg bei bell ber bernfrac bernoulli bernpoly besseli besselj besseljzero besselk bessely
            besselyzero beta betainc bihyper binomial catalan cbrt ceil chebyfit chebyt chebyu chi cholesky
            cholesky_solve chop ci clcos clsin cohen_alt cond conj convert cos cos_sin cosh cosm cospi cospi_sinpi cot
            coth coulombc coulombf coulombg cplot csc csch cyclotomic degree degrees det diag diff difference differint
            diffs diffs_exp diffs_prod diffun digamma dirichlet e e1 ei eig eig_sort eigh eighe eigsy ellipe ellipf
            ellipfun ellipk ellippi elliprc elliprd elliprf elliprg elliprj eps erf erfc erfi erfinv eta euler eulernum
            eulerpoly exp expint expj expjpi expm expm1 extend extradps extraprec eye fabs fac fac2 factorial fadd fdiv
            fdot ff fib fibonacci findpoly findroot floor fmod fmul fneg fourier fourierval fp FPContext fprod frac
            fraction fresnelc fresnels frexp fsub fsum gamma gammainc gammaprod gauss_quadrature gegenbauer glaisher
            grampoint hankel1 hankel2 harmonic hermite hessenberg hilbert hurwitz hyp0f1 hyp1f1 hyp1f2 hyp2f0 hyp2f1
            hyp2f2 hyp2f3 hyp3f2 hyper hyper2d hypercomb hyperfac hyperu hypot identify im inf inverse invertlaplace
            invlapdehoog invlapstehfest invlaptalbot isfinite isinf isint isnan isnormal iv j j0 j1 jacobi jacobian
            jtheta kei ker kfrom khinchin kleinj laguerre lambertw ldexp legendre legenp legenq lerchphi levin li limit
            linspace ln ln10 ln2 log log10 log1p loggamma logm lommels1 lommels2 lu lu_solve mag make_mpc make_mpf
            mangoldt matrix maxcalls meijerg memoize mertens mfrom mnorm mp mpc MPContext mpf mpi MPIntervalContext
            mpmathify multiplicity nan ncdf ninf nint nint_distance norm npdf nprint nprod nstr nsum nthroot nzeros
            odefun ones pade pcfd pcfu pcfv pcfw phase phi pi plot polar polyexp polygamma polylog polyroots polyval
            power powm powm1 primepi primepi2 primezeta psi pslq qbarfrom qfac qfrom qgamma qhyper qp qr qr_solve quad
            quadgl quadosc quadsubdiv quadts radians rand randmatrix re rect residual rf rgamma richardson riemannr root
            sawtoothw schur scorergi scorerhi sec sech secondzeta shanks shi si siegeltheta siegelz sigmoid sign sin
            sinc sincpi sinh sinm sinpi spherharm splot sqrt sqrtm squarew stieltjes stirling1 stirling2 struveh struvel
            sumap sumem superfac svd svd_c svd_r swap_row tan tanh taufrom taylor timing trianglew twinprime
            unit_triangle unitroots unitvector webere whitm whitw workdps workprec zeros zeta zetazero
        """,
        refuse={"doctests runtests": LIBRARY_TESTS},
        internal="monitor",
    ),
}
