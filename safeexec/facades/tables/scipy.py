"""scipy: numerical methods. Out: downloads, foreign functions, the library's own tests."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import INTERPRETER, LIBRARY_TESTS, MACHINE, MEMORY

_OLD_SPARSE = {
    "base": "issparse isspmatrix SparseEfficiencyWarning SparseWarning spmatrix",
    "bsr": "bsr_matrix isspmatrix_bsr spmatrix",
    "coo": "coo_matrix isspmatrix_coo SparseEfficiencyWarning spmatrix",
    "csc": "csc_matrix isspmatrix_csc spmatrix",
    "csr": "csr_matrix isspmatrix_csr spmatrix",
    "dia": "dia_matrix isspmatrix_dia spmatrix",
    "dok": "dok_matrix isspmatrix_dok spmatrix",
    "lil": "isspmatrix_lil lil_array lil_matrix",
}
"""Where the classes were until SciPy 1.8, and still answer."""

_DISTRIBUTIONS = """
    alpha anglit arcsine argus bernoulli beta betabinom betanbinom betaprime binom boltzmann bradford burr burr12 cauchy
    chi chi2 cosine crystalball dgamma dlaplace dpareto_lognorm dweibull entropy erlang expon exponnorm exponpow
    exponweib f fatiguelife fisk foldcauchy foldnorm gamma gausshyper genexpon genextreme gengamma genhalflogistic
    genhyperbolic geninvgauss genlogistic gennorm genpareto geom gibrat gompertz gumbel_l gumbel_r halfcauchy
    halfgennorm halflogistic halfnorm hypergeom hypsecant invgamma invgauss invweibull irwinhall jf_skew_t johnsonsb
    johnsonsu kappa3 kappa4 ksone kstwo kstwobign landau laplace laplace_asymmetric levy levy_l levy_stable loggamma
    logistic loglaplace lognorm logser loguniform lomax maxwell mielke moyal nakagami nbinom ncf nchypergeom_fisher
    nchypergeom_wallenius nct ncx2 nhypergeom norm norminvgauss pareto pearson3 planck poisson poisson_binom powerlaw
    powerlognorm powernorm randint rayleigh rdist recipinvgauss reciprocal rel_breitwigner rice rv_continuous
    rv_discrete rv_histogram semicircular skellam skewcauchy skewnorm studentized_range t trapezoid triang truncexpon
    truncnorm truncpareto truncweibull_min tukeylambda uniform vonmises vonmises_line wald weibull_max weibull_min
    wrapcauchy yulesimon zipf zipfian
"""
"""Names of both `scipy.stats` and `scipy.stats.distributions`."""

TABLES = {
    "scipy": Table(refuse={"test": LIBRARY_TESTS, "show_config": MACHINE, "LowLevelCallable": MEMORY}),
    "scipy.io.wavfile": Table("WavFileWarning", files="read write"),
    "scipy.cluster": Table(refuse={"test": LIBRARY_TESTS}),
    "scipy.cluster.hierarchy": Table(
        """
            average centroid ClusterNode ClusterWarning complete cophenet correspond cut_tree dendrogram DisjointSet
            fcluster fclusterdata from_mlab_linkage inconsistent is_isomorphic is_monotonic is_valid_im is_valid_linkage
            leaders leaves_list linkage maxdists maxinconsts maxRstat median num_obs_linkage optimal_leaf_ordering
            set_link_color_palette single to_mlab_linkage to_tree ward weighted
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.cluster.vq": Table("ClusterError kmeans kmeans2 py_vq vq whiten", refuse={"test": LIBRARY_TESTS}),
    "scipy.constants": Table(
        """
            acre alpha angstrom arcmin arcminute arcsec arcsecond astronomical_unit atm atmosphere atomic_mass atto au
            Avogadro bar barrel bbl blob Boltzmann Btu Btu_IT Btu_th c calorie calorie_IT calorie_th carat centi
            ConstantWarning convert_temperature day deci degree degree_Fahrenheit deka dyn dyne e electron_mass
            electron_volt elementary_charge epsilon_0 erg eV exa exbi femto fermi find fine_structure fluid_ounce
            fluid_ounce_imp fluid_ounce_US foot G g gallon gallon_imp gallon_US gas_constant gibi giga golden
            golden_ratio grain gram gravitational_constant h hbar hectare hecto horsepower hour hp inch Julian_year k
            kgf kibi kilo kilogram_force kmh knot lambda2nu lb lbf light_year liter litre long_ton m_e m_n m_p m_u mach
            mebi mega metric_ton micro micron mil mile milli minute mmHg mph mu_0 N_A nano nautical_mile neutron_mass
            nu2lambda ounce oz parsec pebi peta physical_constants pi pico Planck point pound pound_force precision
            proton_mass psi pt quecto quetta R ronna ronto Rydberg short_ton sigma slinch slug speed_of_light
            speed_of_sound Stefan_Boltzmann stone survey_foot survey_mile tebi tera ton_TNT torr troy_ounce troy_pound u
            unit value week Wien yard year yobi yocto yotta zebi zepto zero_Celsius zetta
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.differentiate": Table("derivative hessian jacobian", refuse={"test": LIBRARY_TESTS}),
    "scipy.fft": Table(
        """
            dct dctn dst dstn fft fft2 fftfreq fftn fftshift fht fhtoffset get_workers hfft hfft2 hfftn idct idctn idst
            idstn ifft ifft2 ifftn ifftshift ifht ihfft ihfft2 ihfftn irfft irfft2 irfftn next_fast_len prev_fast_len
            rfft rfft2 rfftfreq rfftn set_workers
        """,
        refuse={"register_backend set_backend set_global_backend skip_backend": INTERPRETER, "test": LIBRARY_TESTS},
    ),
    "scipy.fftpack": Table(
        """
            cc_diff cs_diff dct dctn diff dst dstn fft fft2 fftfreq fftn fftshift hilbert idct idctn idst idstn ifft
            ifft2 ifftn ifftshift ihilbert irfft itilbert next_fast_len rfft rfftfreq sc_diff shift ss_diff tilbert
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.integrate": Table(
        """
            BDF complex_ode cubature cumulative_simpson cumulative_trapezoid dblquad DenseOutput DOP853 fixed_quad
            IntegrationWarning lebedev_rule LSODA newton_cotes nquad nsum ode odeint ODEintWarning OdeSolution OdeSolver
            qmc_quad quad quad_vec Radau RK23 RK45 romb simpson solve_bvp solve_ivp tanhsinh tplquad trapezoid
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.interpolate": Table(
        """
            AAA Akima1DInterpolator approximate_taylor_polynomial barycentric_interpolate BarycentricInterpolator
            bisplev bisplrep BivariateSpline BPoly BSpline CloughTocher2DInterpolator CubicHermiteSpline CubicSpline
            FloaterHormannInterpolator generate_knots griddata insert interp1d interp2d interpn
            InterpolatedUnivariateSpline krogh_interpolate KroghInterpolator lagrange LinearNDInterpolator
            LSQBivariateSpline LSQSphereBivariateSpline LSQUnivariateSpline make_interp_spline make_lsq_spline
            make_smoothing_spline make_splprep make_splrep NdBSpline NdPPoly NearestNDInterpolator pade
            pchip_interpolate PchipInterpolator PPoly Rbf RBFInterpolator RectBivariateSpline RectSphereBivariateSpline
            RegularGridInterpolator SmoothBivariateSpline SmoothSphereBivariateSpline spalde splantider splder splev
            splint splprep splrep sproot UnivariateSpline
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.io": Table(
        "FortranEOFError FortranFormattingError netcdf_variable",
        files="FortranFile hb_read hb_write loadmat mminfo mmread mmwrite netcdf_file readsav savemat whosmat",
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.linalg": Table(
        """
            bandwidth block_diag cdf2rdf cho_factor cho_solve cho_solve_banded cholesky cholesky_banded circulant
            clarkson_woodruff_transform companion convolution_matrix coshm cosm cossin det dft diagsvd eig eig_banded
            eigh eigh_tridiagonal eigvals eigvals_banded eigvalsh eigvalsh_tridiagonal expm expm_cond expm_frechet
            fiedler fiedler_companion find_best_blas_type fractional_matrix_power funm get_blas_funcs get_lapack_funcs
            hadamard hankel helmert hessenberg hilbert inv invhilbert invpascal ishermitian issymmetric khatri_rao ldl
            leslie LinAlgError LinAlgWarning logm lstsq lu lu_factor lu_solve matmul_toeplitz matrix_balance norm
            null_space ordqz orth orthogonal_procrustes pascal pinv pinvh polar qr qr_delete qr_insert qr_multiply
            qr_update qz rq rsf2csf schur signm sinhm sinm solve solve_banded solve_circulant solve_continuous_are
            solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov solve_lyapunov solve_sylvester
            solve_toeplitz solve_triangular solveh_banded sqrtm subspace_angles svd svdvals tanhm tanm toeplitz
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.ndimage": Table(
        """
            affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss
            binary_opening binary_propagation black_tophat center_of_mass convolve convolve1d correlate correlate1d
            distance_transform_bf distance_transform_cdt distance_transform_edt extrema find_objects fourier_ellipsoid
            fourier_gaussian fourier_shift fourier_uniform gaussian_filter gaussian_filter1d gaussian_gradient_magnitude
            gaussian_laplace generate_binary_structure generic_filter generic_filter1d generic_gradient_magnitude
            generic_laplace geometric_transform grey_closing grey_dilation grey_erosion grey_opening histogram
            iterate_structure label labeled_comprehension laplace map_coordinates maximum maximum_filter
            maximum_filter1d maximum_position mean median median_filter minimum minimum_filter minimum_filter1d
            minimum_position morphological_gradient morphological_laplace percentile_filter prewitt rank_filter rotate
            shift sobel spline_filter spline_filter1d standard_deviation sum sum_labels uniform_filter uniform_filter1d
            value_indices variance vectorized_filter watershed_ift white_tophat zoom
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.odr": Table(
        """
            Data exponential Model multilinear ODR odr OdrError OdrStop OdrWarning Output polynomial quadratic RealData
            unilinear
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.optimize": Table(
        """
            anderson approx_fprime basinhopping BFGS bisect Bounds bracket brent brenth brentq broyden1 broyden2
            BroydenFirst brute check_grad curve_fit diagbroyden differential_evolution direct dual_annealing
            excitingmixing fixed_point fmin fmin_bfgs fmin_cg fmin_cobyla fmin_l_bfgs_b fmin_ncg fmin_powell fmin_slsqp
            fmin_tnc fminbound fsolve golden HessianUpdateStrategy InverseJacobian isotonic_regression KrylovJacobian
            LbfgsInvHessProduct least_squares leastsq line_search linear_sum_assignment LinearConstraint linearmixing
            linprog linprog_verbose_callback lsq_linear milp minimize minimize_scalar newton newton_krylov nnls
            NoConvergence NonlinearConstraint OptimizeResult OptimizeWarning quadratic_assignment ridder root
            root_scalar RootResults rosen rosen_der rosen_hess rosen_hess_prod shgo show_options SR1 toms748
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.signal": Table(
        """
            abcd_normalize argrelextrema argrelmax argrelmin BadCoefficients band_stop_obj bessel besselap bilinear
            bilinear_zpk bode buttap butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1 cheby2 check_COLA
            check_NOLA chirp choose_conv_method closest_STFT_dual_window coherence cont2discrete convolve convolve2d
            correlate correlate2d correlation_lags csd cspline1d cspline1d_eval cspline2d CZT czt czt_points dbode
            decimate deconvolve detrend dfreqresp dimpulse dlsim dlti dstep ellip ellipap ellipord envelope fftconvolve
            filtfilt find_peaks find_peaks_cwt findfreqs firls firwin firwin2 firwin_2d freqresp freqs freqs_zpk freqz
            freqz_sos freqz_zpk gammatone gauss_spline gausspulse get_window group_delay hilbert hilbert2 iircomb
            iirdesign iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten kaiser_beta kaiserord lfilter
            lfilter_zi lfiltic lombscargle lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk lsim lti
            max_len_seq medfilt medfilt2d minimum_phase normalize oaconvolve order_filter peak_prominences peak_widths
            periodogram place_poles qspline1d qspline1d_eval qspline2d remez resample resample_poly residue residuez
            savgol_coeffs savgol_filter sawtooth sepfir2d ShortTimeFFT sos2tf sos2zpk sosfilt sosfilt_zi sosfiltfilt
            sosfreqz spectrogram spline_filter square ss2tf ss2zpk StateSpace step stft sweep_poly symiirorder1
            symiirorder2 tf2sos tf2ss tf2zpk TransferFunction unique_roots unit_impulse upfirdn vectorstrength welch
            whittaker_henderson wiener ZerosPolesGain zoom_fft ZoomFFT zpk2sos zpk2ss zpk2tf
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.signal.windows": Table(
        """
            barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine dpss exponential flattop gaussian
            general_cosine general_gaussian general_hamming get_window hamming hann kaiser kaiser_bessel_derived lanczos
            nuttall parzen taylor triang tukey
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    **{f"scipy.sparse.{name}": Table(names) for name, names in _OLD_SPARSE.items()},
    "scipy.sparse": Table(
        """
            block_array block_diag bmat bsr_array bsr_matrix coo_array coo_matrix csc_array csc_matrix csr_array
            csr_matrix dia_array dia_matrix diags diags_array dok_array dok_matrix expand_dims eye eye_array find
            get_index_dtype hstack identity issparse isspmatrix isspmatrix_bsr isspmatrix_coo isspmatrix_csc
            isspmatrix_csr isspmatrix_dia isspmatrix_dok isspmatrix_lil kron kronsum lil_array lil_matrix
            matrix_transpose permute_dims rand random random_array safely_cast_index_arrays sparray
            SparseEfficiencyWarning SparseWarning spdiags spmatrix swapaxes tril triu vstack
        """,
        files="load_npz save_npz",
    ),
    "scipy.sparse.linalg": Table(
        """
            ArpackError ArpackNoConvergence aslinearoperator bicg bicgstab cg cgs eigs eigsh expm expm_multiply
            factorized funm_multiply_krylov gcrotmk gmres inv is_sptriangular LaplacianNd lgmres LinearOperator lobpcg
            lsmr lsqr matrix_power MatrixRankWarning minres norm onenormest qmr spbandwidth spilu splu spsolve
            spsolve_triangular SuperLU svds tfqmr use_solver
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.sparse.csgraph": Table(
        """
            bellman_ford breadth_first_order breadth_first_tree connected_components construct_dist_matrix
            csgraph_from_dense csgraph_from_masked csgraph_masked_from_dense csgraph_to_dense csgraph_to_masked
            depth_first_order depth_first_tree dijkstra floyd_warshall johnson laplacian maximum_bipartite_matching
            maximum_flow min_weight_full_bipartite_matching minimum_spanning_tree NegativeCycleError reconstruct_path
            reverse_cuthill_mckee shortest_path structural_rank yen
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.spatial": Table(
        """
            cKDTree convex_hull_plot_2d ConvexHull Delaunay delaunay_plot_2d distance_matrix geometric_slerp
            HalfspaceIntersection KDTree minkowski_distance minkowski_distance_p procrustes QhullError Rectangle
            SphericalVoronoi tsearch Voronoi voronoi_plot_2d
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.spatial.distance": Table(
        """
            braycurtis canberra cdist chebyshev cityblock correlation cosine dice directed_hausdorff euclidean hamming
            is_valid_dm is_valid_y jaccard jensenshannon mahalanobis minkowski num_obs_dm num_obs_y pdist rogerstanimoto
            russellrao seuclidean sokalsneath sqeuclidean squareform yule
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.spatial.transform": Table("RigidTransform Rotation RotationSpline Slerp", refuse={"test": LIBRARY_TESTS}),
    "scipy.special": Table(
        """
            agm ai_zeros airy airye assoc_laguerre assoc_legendre_p assoc_legendre_p_all bdtr bdtrc bdtri bdtrik bdtrin
            bei bei_zeros beip beip_zeros ber ber_zeros bernoulli berp berp_zeros besselpoly beta betainc betaincc
            betainccinv betaincinv betaln bi_zeros binom boxcox boxcox1p btdtria btdtrib c_roots cbrt cg_roots chdtr
            chdtrc chdtri chdtriv chebyc chebys chebyt chebyu chndtr chndtridf chndtrinc chndtrix comb cosdg cosm1 cotdg
            dawsn digamma diric ellip_harm ellip_harm_2 ellip_normal ellipe ellipeinc ellipj ellipk ellipkinc ellipkm1
            elliprc elliprd elliprf elliprg elliprj entr erf erf_zeros erfc erfcinv erfcx erfi erfinv errstate euler
            eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite
            eval_hermitenorm eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_jacobi
            eval_sh_legendre exp1 exp10 exp2 expi expit expm1 expn exprel factorial factorial2 factorialk fdtr fdtrc
            fdtri fdtridfd fresnel fresnel_zeros fresnelc_zeros fresnels_zeros gamma gammainc gammaincc gammainccinv
            gammaincinv gammaln gammasgn gdtr gdtrc gdtria gdtrib gdtrix gegenbauer genlaguerre geterr h1vp h2vp h_roots
            hankel1 hankel1e hankel2 hankel2e he_roots hermite hermitenorm huber hyp0f1 hyp1f1 hyp2f1 hyperu i0 i0e i1
            i1e inv_boxcox inv_boxcox1p it2i0k0 it2j0y0 it2struve0 itairy iti0k0 itj0y0 itmodstruve0 itstruve0 iv ive
            ivp j0 j1 j_roots jacobi jn jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros js_roots jv jve jvp k0 k0e k1 k1e kei
            kei_zeros keip keip_zeros kelvin kelvin_zeros ker ker_zeros kerp kerp_zeros kl_div kn kolmogi kolmogorov kv
            kve kvp l_roots la_roots laguerre lambertw legendre legendre_p legendre_p_all lmbda log1p log_expit log_ndtr
            log_softmax log_wright_bessel loggamma logit logsumexp lpmv lqmn lqn mathieu_a mathieu_b mathieu_cem
            mathieu_even_coef mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_odd_coef
            mathieu_sem modfresnelm modfresnelp modstruve multigammaln nbdtr nbdtrc nbdtri nbdtrik nbdtrin ncfdtr
            ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc nctdtrit ndtr ndtri ndtri_exp nrdtrimn
            nrdtrisd obl_ang1 obl_ang1_cv obl_cv obl_cv_seq obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv owens_t p_roots
            pbdn_seq pbdv pbdv_seq pbvv pbvv_seq pbwa pdtr pdtrc pdtri pdtrik perm poch polygamma powm1 pro_ang1
            pro_ang1_cv pro_cv pro_cv_seq pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv ps_roots pseudo_huber psi radian
            rel_entr rgamma riccati_jn riccati_yn roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_gegenbauer
            roots_genlaguerre roots_hermite roots_hermitenorm roots_jacobi roots_laguerre roots_legendre roots_sh_chebyt
            roots_sh_chebyu roots_sh_jacobi roots_sh_legendre round s_roots seterr sh_chebyt sh_chebyu sh_jacobi
            sh_legendre shichi sici sinc sindg smirnov smirnovi softmax softplus SpecialFunctionError
            SpecialFunctionWarning spence sph_harm_y sph_harm_y_all sph_legendre_p sph_legendre_p_all spherical_in
            spherical_jn spherical_kn spherical_yn stdtr stdtridf stdtrit stirling2 struve t_roots tandg tklmbda
            ts_roots u_roots us_roots voigt_profile wofz wright_bessel wrightomega xlog1py xlogy y0 y0_zeros y1 y1_zeros
            y1p_zeros yn yn_zeros ynp_zeros yv yve yvp zeta zetac
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.stats": Table(
        _DISTRIBUTIONS
        + """
            abs alexandergovern anderson anderson_ksamp ansari barnard_exact bartlett bayes_mvs binned_statistic
            binned_statistic_2d binned_statistic_dd Binomial binomtest bootstrap BootstrapMethod boschloo_exact boxcox
            boxcox_llf boxcox_normmax boxcox_normplot brunnermunzel bws_test CensoredData chatterjeexi chi2_contingency
            chisquare circmean circstd circvar combine_pvalues ConstantInputWarning Covariance cramervonmises
            cramervonmises_2samp cumfreq DegenerateDataWarning describe differential_entropy directional_stats dirichlet
            dirichlet_multinomial dunnett ecdf energy_distance epps_singleton_2samp estimated_cdf exp expectile f_oneway
            false_discovery_control fisher_exact fit FitError fligner friedmanchisquare gaussian_kde gmean
            goodness_of_fit gstd gzscore hmean invwishart iqr jarque_bera kendalltau kruskal ks_1samp ks_2samp kstat
            kstatvar kstest kurtosis kurtosistest levene linregress lmoment log Logistic logrank make_distribution
            mannwhitneyu matrix_normal matrix_t median_abs_deviation median_test Mixture mode moment monte_carlo_test
            MonteCarloMethod mood multinomial multiscale_graphcorr multivariate_hypergeom multivariate_normal
            multivariate_t mvsdist NearConstantInputWarning Normal normal_inverse_gamma normaltest obrientransform
            order_statistic ortho_group page_trend_test pearsonr percentileofscore permutation_test PermutationMethod
            pmean pointbiserialr poisson_means_test power power_divergence ppcc_max ppcc_plot probplot quantile
            quantile_test random_correlation random_table rankdata ranksums relfreq scoreatpercentile sem shapiro
            siegelslopes sigmaclip skew skewtest sobol_indices somersd spearmanr spearmanrho special_ortho_group
            theilslopes tiecorrect tmax tmean tmin trim1 trim_mean trimboth truncate tsem tstd ttest_1samp ttest_ind
            ttest_ind_from_stats ttest_rel tukey_hsd tvar Uniform uniform_direction unitary_group variation
            vonmises_fisher wasserstein_distance wasserstein_distance_nd weightedtau wilcoxon wishart yeojohnson
            yeojohnson_llf yeojohnson_normmax yeojohnson_normplot zmap zscore
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.stats.qmc": Table(
        """
            discrepancy geometric_discrepancy Halton LatinHypercube MultinomialQMC MultivariateNormalQMC PoissonDisk
            QMCEngine scale Sobol update_discrepancy
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.stats.contingency": Table(
        "association chi2_contingency crosstab expected_freq margins odds_ratio relative_risk",
        refuse={"test": LIBRARY_TESTS},
    ),
    "scipy.stats.distributions": Table(_DISTRIBUTIONS, refuse={"test": LIBRARY_TESTS}),
    "scipy.stats.mstats": Table(
        """
            argstoarray brunnermunzel chisquare compare_medians_ms count_tied_groups describe f_oneway find_repeats
            friedmanchisquare gmean hdmedian hdquantiles hdquantiles_sd hmean idealfourths kendalltau
            kendalltau_seasonal kruskal kruskalwallis ks_1samp ks_2samp ks_twosamp kstest kurtosis kurtosistest
            linregress mannwhitneyu median_cihs meppf mjci mode moment mquantiles mquantiles_cimj msign normaltest
            obrientransform pearsonr plotting_positions pointbiserialr rankdata rsh scoreatpercentile sem
            sen_seasonal_slopes siegelslopes skew skewtest spearmanr theilslopes tmax tmean tmin trim trima trimboth
            trimmed_mean trimmed_mean_ci trimmed_std trimmed_stde trimmed_var trimr trimtail tsem ttest_1samp ttest_ind
            ttest_onesamp ttest_rel tvar variation winsorize zmap zscore
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
}
