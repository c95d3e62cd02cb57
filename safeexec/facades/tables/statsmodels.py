"""Statistical models: statsmodels, and patsy, which reads their formulas."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import FILES, FRAMES, LIBRARY_TESTS, MACHINE, NETWORK, PICKLE, PROCESS

_DATASETS = (
    "anes96 cancer ccard china_smoking co2 committee copper cpunish danish_data elec_equip elnino engel fair "
    "fertility grunfeld heart interest_inflation longley macrodata modechoice nile randhie scotland spector "
    "stackloss star98 statecrime strikes sunspots"
)

TABLES = {
    **{
        f"statsmodels.datasets.{name}": Table("COPYRIGHT DESCRLONG DESCRSHORT load load_pandas NOTE SOURCE TITLE")
        for name in _DATASETS.split()
    },
    "patsy": Table(
        """
            balanced bs build_design_matrices cc center ContrastMatrix cr demo_data design_matrix_builders DesignInfo
            DesignMatrix Diff dmatrices dmatrix FactorInfo Helmert incr_dbuilder incr_dbuilders INTERCEPT
            LinearConstraint LookupFactor ModelDesc NAAction Origin PatsyError Poly scale standardize stateful_transform
            SubtermInfo Sum te Term Treatment
        """,
        refuse={"EvalEnvironment EvalFactor": FRAMES},
        note="what a formula calls is compiled as a step is: child.language.libraries.eval_sinks.",
    ),
    "patsy.contrasts": Table("ContrastMatrix Diff Helmert Poly Sum Treatment"),
    "statsmodels": Table(refuse={"test": LIBRARY_TESTS}, internal="debug_warnings"),
    "statsmodels.api": Table(
        """
            add_constant BayesGaussMI BinomialBayesMixedGLM ConditionalLogit ConditionalMNLogit ConditionalPoisson
            Factor GEE GeneralizedPoisson GLM GLMGam GLS GLSAR HurdleCountModel impute_ros Logit MANOVA MI MICE MICEData
            MixedLM MNLogit MultivariateLS NegativeBinomial NegativeBinomialP NominalGEE OLS OrdinalGEE PCA PHReg
            Poisson PoissonBayesMixedGLM Probit ProbPlot QIF qqline qqplot qqplot_2samples QuantReg RecursiveLS RLM
            SurvfuncRight TruncatedLFNegativeBinomialP TruncatedLFPoisson VCSpec WLS ZeroInflatedGeneralizedPoisson
            ZeroInflatedNegativeBinomialP ZeroInflatedPoisson
        """,
        refuse={"load load_pickle": PICKLE, "show_versions": MACHINE, "test": LIBRARY_TESTS, "webdoc": NETWORK},
        aliases={
            **{
                name: f"statsmodels.{name}"
                for name in ["datasets", "distributions", "iolib", "regression", "robust", "tools"]
            },
            **{
                name: f"statsmodels.{name}.api"
                for name in [
                    "duration",
                    "emplike",
                    "formula",
                    "gam",
                    "genmod",
                    "graphics",
                    "multivariate",
                    "nonparametric",
                    "stats",
                    "tsa",
                ]
            },
            "families": "statsmodels.genmod.families",
        },
        note="results load and save no pickles (child.language.libraries.numbers).",
    ),
    "statsmodels.base.model": Table(
        """
            GenericLikelihoodModel GenericLikelihoodModelResults LikelihoodModel LikelihoodModelResults Model
            ResultMixin Results
        """,
        internal="LikelihoodResultsWrapper",
    ),
    "statsmodels.discrete.count_model": Table(
        "ZeroInflatedGeneralizedPoisson ZeroInflatedNegativeBinomialP ZeroInflatedPoisson"
    ),
    "statsmodels.discrete.discrete_model": Table(
        "CountModel GeneralizedPoisson Logit MNLogit NegativeBinomial NegativeBinomialP Poisson Probit"
    ),
    "statsmodels.discrete.truncated_model": Table("HurdleCountModel TruncatedLFNegativeBinomialP TruncatedLFPoisson"),
    "statsmodels.distributions": Table(
        """
            BernsteinDistribution BernsteinDistributionBV BernsteinDistributionUV ECDF ECDFDiscrete ExpandedNormal
            genpoisson_p mixture_rvs MixtureDistribution monotone_fn_inverter mv_mixture_rvs StepFunction zigenpoisson
            zinegbin zipoisson
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "statsmodels.distributions.empirical_distribution": Table("ECDF ECDFDiscrete monotone_fn_inverter StepFunction"),
    "statsmodels.duration.api": Table("CumIncidenceRight PHReg survdiff SurvfuncRight"),
    "statsmodels.duration.hazard_regression": Table("PHReg PHRegResults PHSurvivalTime rv_discrete_float"),
    "statsmodels.duration.survfunc": Table("CumIncidenceRight plot_survfunc survdiff SurvfuncRight"),
    "statsmodels.emplike.api": Table("ANOVA DescStat DescStatMV DescStatUV ELOriginRegress emplikeAFT"),
    "statsmodels.formula.api": Table(
        """
            conditional_logit conditional_mnlogit conditional_poisson gee glm glmgam gls glsar logit mixedlm mnlogit
            negativebinomial nominal_gee ols ordinal_gee phreg poisson probit quantreg rlm wls
        """
    ),
    "statsmodels.gam.api": Table("BSplines CyclicCubicSplines GLMGam MultivariateGAMCVPath"),
    "statsmodels.gam.generalized_additive_model": Table(
        "GLMGam GLMGamResults LogitGam make_augmented_matrix penalized_wls", internal="GLMGamResultsWrapper"
    ),
    "statsmodels.genmod.api": Table(
        "BinomialBayesMixedGLM GEE GLM NominalGEE OrdinalGEE PoissonBayesMixedGLM QIF",
        aliases={"families": "statsmodels.genmod.families"},
    ),
    "statsmodels.genmod.families": Table(
        "Binomial Family Gamma Gaussian InverseGaussian NegativeBinomial Poisson Tweedie",
        refuse={"test": LIBRARY_TESTS},
    ),
    "statsmodels.genmod.families.links": Table(
        """
            Cauchy cauchy CDFLink CLogLog cloglog Identity identity inverse_power inverse_squared InversePower
            InverseSquared Link Log log LogC logc Logit logit LogLog loglog nbinom NegativeBinomial Power Probit probit
            Sqrt sqrt
        """
    ),
    "statsmodels.genmod.generalized_estimating_equations": Table(
        "GEE GEEMargins GEEResults NominalGEE NominalGEEResults OrdinalGEE OrdinalGEEResults ParameterConstraint",
        internal="GEEResultsWrapper NominalGEEResultsWrapper OrdinalGEEResultsWrapper",
    ),
    "statsmodels.genmod.generalized_linear_model": Table("GLM GLMResults PredictionResultsMean"),
    "statsmodels.graphics.api": Table(
        """
            abline_plot add_ellipse add_lowess added_variable_resids beanplot ceres_resids create_mpl_ax create_mpl_fig
            fboxplot hdrboxplot influence_plot interaction_plot mean_diff_plot partial_resids plot_ccpr plot_ccpr_grid
            plot_corr plot_corr_grid plot_fit plot_leverage_resid2 plot_partregress plot_partregress_grid
            plot_regress_exog qqplot rainbow rainbowplot violinplot
        """,
        aliases={"tsa": "statsmodels.graphics.tsaplots"},
    ),
    "statsmodels.graphics.boxplots": Table("beanplot violinplot"),
    "statsmodels.graphics.correlation": Table("plot_corr plot_corr_grid"),
    "statsmodels.graphics.factorplots": Table("interaction_plot"),
    "statsmodels.graphics.functional": Table("banddepth fboxplot hdrboxplot rainbowplot"),
    "statsmodels.graphics.gofplots": Table("ProbPlot qqline qqplot qqplot_2samples"),
    "statsmodels.graphics.mosaicplot": Table("mosaic"),
    "statsmodels.graphics.regressionplots": Table(
        """
            abline_plot add_ellipse add_lowess added_variable_resids ceres_resids influence_plot partial_resids
            PartRegressPlotResult plot_added_variable plot_ccpr plot_ccpr_grid plot_ceres_residuals plot_fit
            plot_leverage_resid2 plot_partial_residuals plot_partregress plot_partregress_grid plot_regress_exog
        """
    ),
    "statsmodels.graphics.tsaplots": Table(
        """
            month_plot plot_accf_grid plot_acf plot_ccf plot_pacf plot_pccf plot_predict quarter_plot
            seasonal_diagnostic_plot seasonal_plot
        """
    ),
    "statsmodels.imputation.mice": Table("MICE MICEData MICEResults PatsyFormula"),
    "statsmodels.iolib.summary2": Table(
        "Summary summary_col summary_model summary_params", internal="fmt_latex fmt_txt"
    ),
    "statsmodels.iolib.table": Table(
        "Cell get_output_format pad Row SimpleTable",
        files="csv2st",
        internal="""
            default_csv_fmt default_fmts default_html_fmt default_latex_fmt default_txt_fmt output_format_translations
        """,
    ),
    "statsmodels.miscmodels.api": Table("PoissonGMLE PoissonOffsetGMLE PoissonZiGMLE TLinearModel"),
    "statsmodels.miscmodels.ordinal_model": Table("OrderedModel OrderedResults", internal="OrderedResultsWrapper"),
    "statsmodels.multivariate.api": Table(
        "CanCorr Factor FactorResults MANOVA MultivariateLS MultivariateLSResults PCA"
    ),
    "statsmodels.multivariate.factor": Table("Factor FactorResults"),
    "statsmodels.multivariate.manova": Table("MANOVA"),
    "statsmodels.multivariate.multivariate_ols": Table(
        "multivariate_stats MultivariateLS MultivariateLSResults MultivariateTestResults",
        internal="MultivariateLSResultsWrapper",
    ),
    "statsmodels.multivariate.pca": Table("PCA pca"),
    "statsmodels.nonparametric.api": Table(
        """
            cdf_kernel_asym EstimatorSettings KDEMultivariate KDEMultivariateConditional KDEUnivariate KernelCensoredReg
            KernelReg lowess pdf_kernel_asym
        """,
        aliases={"bandwidths": "statsmodels.nonparametric.bandwidths"},
    ),
    "statsmodels.nonparametric.bandwidths": Table(
        "bw_normal_reference bw_scott bw_silverman select_bandwidth", internal="bandwidth_funcs"
    ),
    "statsmodels.nonparametric.kde": Table("kdensity kdensityfft KDEResult KDEUnivariate", internal="kernel_switch"),
    "statsmodels.nonparametric.smoothers_lowess": Table("lowess"),
    "statsmodels.othermod.api": Table("BetaModel"),
    "statsmodels.othermod.betareg": Table("BetaModel BetaResults", internal="BetaResultsWrapper lgamma"),
    "statsmodels.regression.linear_model": Table(
        """
            burg CompareLRTestResult ELTestResult GLS GLSAR OLS OLSResults PredictionResults RegressionResults
            RegressionResultsWrapper WLS yule_walker YuleWalkerResult
        """
    ),
    "statsmodels.regression.mixed_linear_model": Table(
        "MixedLM MixedLMParams MixedLMResults VCSpec", internal="MixedLMResultsWrapper"
    ),
    "statsmodels.regression.quantile_regression": Table(
        "bofinger chamberlain hall_sheather QuantReg QuantRegResults", internal="kernels"
    ),
    "statsmodels.regression.recursive_ls": Table(
        "RecursiveLS RecursiveLSResults", internal="RecursiveLSResultsWrapper"
    ),
    "statsmodels.regression.rolling": Table(
        "RollingOLS RollingRegressionResults RollingStore RollingWLS strip4",
        internal="common_params extra_base extra_parameters weight_parameters window_parameters",
    ),
    "statsmodels.robust": Table(
        "CovDetMCD CovDetMM CovDetS CovM Huber hubers_scale HuberScale mad MScale RLMDetS RLMDetSMM",
        refuse={"test": LIBRARY_TESTS},
    ),
    "statsmodels.robust.norms": Table(
        """
            AndrewWave estimate_location Hampel HuberT LeastSquares MQuantileNorm RamsayE RobustNorm StudentT
            TrimmedMean TukeyBiweight TukeyQuartic
        """
    ),
    "statsmodels.robust.robust_linear_model": Table("RLM"),
    "statsmodels.robust.scale": Table(
        "Huber huber hubers_scale HuberScale iqr mad MScale qn_scale scale_tau scale_trimmed ScaleTrimmedResult"
    ),
    "statsmodels.stats.anova": Table(
        "anova1_lm_single anova2_lm_single anova3_lm_single anova_lm anova_single AnovaResults AnovaRM"
    ),
    "statsmodels.stats.api": Table(
        """
            acorr_breusch_godfrey acorr_ljungbox acorr_lm anova_generic anova_lm anova_oneway AnovaRM binom_test
            binom_test_reject_interval binom_tost binom_tost_reject_interval breaks_cusumolsresid breaks_hansen
            chisquare_effectsize cochrans_q cohens_kappa combine_effects compare_cox compare_encompassing compare_j
            CompareMeans confint_effectsize_oneway confint_mvmean confint_mvmean_fromstats confint_noncentrality
            confint_poisson confint_poisson_2indep confint_proportions_2indep confint_quantile_poisson
            convert_effectsize_fsqu corr_clipped corr_nearest corr_nearest_factor corr_normal_scores corr_quadrant
            corr_rank corr_thresholded cov_cluster cov_cluster_2groups cov_hac cov_hc0 cov_hc1 cov_hc2 cov_hc3
            cov_nearest cov_nearest_factor_homog cov_nw_panel cov_white_simple Describe DescrStatsW durbin_watson
            effectsize_2proportions effectsize_oneway effectsize_smd equivalence_oneway equivalence_oneway_generic
            equivalence_scale_oneway etest_poisson_2indep f2_to_wellek FactoredPSDMatrix fdrcorrection
            fdrcorrection_twostage fleiss_kappa fstat_to_wellek FTestAnovaPower FTestPower gof_chisquare_discrete
            GofChisquarePower het_arch het_breuschpagan het_goldfeldquandt het_white jarque_bera jonckheere_terpstra
            lilliefors linear_harvey_collier linear_lm linear_rainbow linear_reset local_fdr local_fdr_correction
            mcnemar Mediation multinomial_proportions_confint multipletests nonequivalence_poisson_2indep normal_ad
            NormalIndPower NullDistribution OaxacaBlinder omni_normtest pesaran_timmermann power_binom_tost
            power_equivalence_neginb_2indep power_equivalence_oneway power_equivalence_poisson_2indep
            power_negbin_ratio_2indep power_poisson_diff_2indep power_poisson_ratio_2indep power_proportions_2indep
            power_ztost_prop powerdiscrepancy proportion_confint proportion_effectsize proportions_chisquare
            proportions_chisquare_allpairs proportions_chisquare_pairscontrol proportions_ztest proportions_ztost
            recursive_olsresiduals RegressionFDR Runs runstest_1samp runstest_2samp samplesize_confint_proportion
            samplesize_proportions_2indep_onetail se_cov simulate_power_equivalence_oneway spec_white SquareTable
            StratifiedTable Table Table2x2 test_cov test_cov_blockdiagonal test_cov_diagonal test_cov_oneway
            test_cov_spherical test_mvmean test_mvmean_2indep test_poisson test_poisson_2indep test_proportions_2indep
            test_scale_oneway tolerance_int_poisson tost_poisson_2indep tost_proportions_2indep transform_corr_normal
            tt_ind_solve_power tt_solve_power ttest_ind TTestIndPower TTestPower ttost_ind ttost_paired tukeyhsd
            weights_bartlett weights_uniform wellek_to_f2 zconfint zt_ind_solve_power ztest ztost
        """,
        aliases={
            "diagnostic": "statsmodels.stats.diagnostic",
            "multicomp": "statsmodels.stats.multicomp",
            "stattools": "statsmodels.stats.stattools",
        },
    ),
    "statsmodels.stats.contingency_tables": Table(
        "cochrans_q CochransQResult mcnemar SquareTable StratifiedTable Table Table2x2"
    ),
    "statsmodels.stats.descriptivestats": Table(
        "Describe describe Description sign_test",
        internal="is_categorical_dtype nancount nankurtosis nanpercentile nanptp nanskewness nanuss pd_ptp",
    ),
    "statsmodels.stats.diagnostic": Table(
        """
            acorr_breusch_godfrey acorr_ljungbox acorr_lm anderson_statistic compare_cox compare_j GoldfeldQuandtResult
            het_arch het_breuschpagan het_goldfeldquandt het_white kstest_exponential kstest_fit kstest_normal
            lilliefors linear_harvey_collier linear_lm linear_rainbow LMTestResult NonNestedTestResult normal_ad
            pesaran_timmermann PesaranTimmermannResult spec_white
        """
    ),
    "statsmodels.stats.inter_rater": Table(
        "aggregate_raters cohens_kappa fleiss_kappa KappaResults ResultsBunch to_table"
    ),
    "statsmodels.stats.meta_analysis": Table(
        "combine_effects CombineResults effectsize_2proportions effectsize_smd HomogeneityTestResult"
    ),
    "statsmodels.stats.multicomp": Table("MultiComparison pairwise_tukeyhsd tukeyhsd"),
    "statsmodels.stats.multitest": Table(
        """
            fdrcorrection fdrcorrection_twostage local_fdr local_fdr_correction LocalFDRCorrectionResult multipletests
            NullDistribution RegressionFDR
        """
    ),
    "statsmodels.stats.oneway": Table(
        """
            anova_generic anova_oneway AnovaResult confint_effectsize_oneway confint_noncentrality
            ConfintEffectSizeResult convert_effectsize_fsqu effectsize_oneway EffectSizeFsquResult equivalence_oneway
            equivalence_oneway_generic equivalence_scale_oneway EquivalenceOnewayResult f2_to_wellek fstat_to_wellek
            FstatEffectSizeResult power_equivalence_oneway ScaleAnovaResult ScaleEquivalenceResult
            simulate_power_equivalence_oneway SimulatePowerEquivalenceResult test_scale_oneway wellek_to_f2
        """,
        internal="ncfdtrinc",
    ),
    "statsmodels.stats.outliers_influence": Table(
        "GLMInfluence MLEInfluence OLSInfluence outlier_test reset_ramsey summary_table variance_inflation_factor"
    ),
    "statsmodels.stats.power": Table(
        """
            ftest_anova_power ftest_power ftest_power_f2 FTestAnovaPower FTestPower FTestPowerF2 GofChisquarePower
            ncf_cdf ncf_ppf ncf_sf nct_cdf nct_sf normal_power normal_power_het normal_sample_size_one_tail
            NormalIndPower Power tt_ind_solve_power tt_solve_power ttest_power TTestIndPower TTestPower
            zt_ind_solve_power
        """
    ),
    "statsmodels.stats.proportion": Table(
        """
            binom_test binom_test_reject_interval binom_tost binom_tost_reject_interval confint_proportions_2indep
            KoopmanConfintResult multinomial_proportions_confint PairedNamConfintResult power_binom_tost
            power_proportions_2indep power_ztost_prop PowerProportionsResult proportion_confint proportion_effectsize
            Proportions2indepTestResult proportions_chisquare proportions_chisquare_allpairs
            proportions_chisquare_pairscontrol proportions_ztest proportions_ztost samplesize_confint_proportion
            samplesize_proportions_2indep_onetail score_test_proportions_2indep ScoreTestProportionsResult std_prop
            test_proportions_2indep tost_proportions_2indep TostProportionsResult
        """
    ),
    "statsmodels.stats.rates": Table(
        """
            confint_poisson confint_poisson_2indep confint_quantile_poisson etest_poisson_2indep
            nonequivalence_poisson_2indep NonequivalencePoissonResult PoissonTest2indepResult PoissonTestResult
            power_equivalence_neginb_2indep power_equivalence_poisson_2indep power_negbin_ratio_2indep
            power_poisson_diff_2indep power_poisson_ratio_2indep PowerDiffResult PowerEquivalenceResult
            PowerNegbinRatioResult PowerRatioResult PowerResult test_poisson test_poisson_2indep tolerance_int_poisson
            tost_poisson_2indep TostPoissonResult
        """,
        internal="method_names_poisson_1samp method_names_poisson_2indep",
    ),
    "statsmodels.stats.stattools": Table(
        "durbin_watson expected_robust_kurtosis jarque_bera medcouple omni_normtest robust_kurtosis robust_skewness"
    ),
    "statsmodels.stats.weightstats": Table(
        "CompareMeans DescrStatsW ttest_ind ttost_ind ttost_paired zconfint ztest ztost"
    ),
    "statsmodels.tools.eval_measures": Table(
        """
            aic aic_sigma aicc aicc_sigma bias bic bic_sigma hqic hqic_sigma iqr maxabs meanabs medianabs medianbias mse
            rmse rmspe stde vare
        """
    ),
    "statsmodels.tools.numdiff": Table(
        "approx_fprime approx_fprime_cs approx_hess approx_hess1 approx_hess2 approx_hess3 approx_hess_cs"
    ),
    "statsmodels.tools.sm_exceptions": Table(
        """
            CacheWriteWarning CollinearityWarning ConvergenceWarning DomainWarning EstimationWarning
            HessianInversionWarning HypothesisTestWarning InfeasibleTestError InterpolationWarning InvalidTestWarning
            IOWarning IterationLimitWarning MissingDataError ModelWarning ModuleUnavailableWarning NotImplementedWarning
            OutputWarning ParseError PerfectSeparationError PerfectSeparationWarning PrecisionWarning
            SingularMatrixWarning SpecificationWarning ValueWarning X13Error X13NotFoundError X13Warning
        """,
        internal="convergence_doc iteration_limit_doc module_unavailable_doc recarray_exception",
    ),
    "statsmodels.tools.tools": Table(
        """
            add_constant asstr2 Bunch clean0 drop_missing fullrank isestimable matrix_rank maybe_unwrap_results nan_dot
            pinv_extended recipr recipr0 unsqueeze
        """
    ),
    "statsmodels.tsa.api": Table(
        """
            acf acovf add_lag add_trend adfuller AR ARDL ardl_select_order ARIMA arma_generate_sample
            arma_order_select_ic ArmaProcess AutoReg bds block_jackknife breakvar_heteroskedasticity_test ccf ccovf
            coint detrend diebold_mariano_test DynamicFactor DynamicFactorMQ ETSModel ExponentialSmoothing
            hamilton_filter Holt kpss lagmat lagmat2ds leybourne LocalProjections MarkovAutoregression MarkovRegression
            pacf pacf_burg pacf_ols pacf_yw pccf q_stat range_unit_root_test SARIMAX seasonal_decompose
            SimpleExpSmoothing STL STLForecast SVAR UECM UnobservedComponents VAR VARMAX VECM zivot_andrews
        """,
        refuse={"x13_arima_analysis x13_arima_select_order": PROCESS},
        aliases={
            "arima": "statsmodels.tsa.arima.api",
            "bk_filter": "statsmodels.tsa.filters.bk_filter",
            "cf_filter": "statsmodels.tsa.filters.cf_filter",
            "graphics": "statsmodels.graphics.tsaplots",
            "hp_filter": "statsmodels.tsa.filters.hp_filter",
            "statespace": "statsmodels.tsa.statespace.api",
            "stattools": "statsmodels.tsa.stattools",
            "tsatools": "statsmodels.tsa.tsatools",
            "var": "statsmodels.tsa.vector_ar",
        },
    ),
    "statsmodels.tsa.ar_model": Table("AR AutoReg InformationCriteria"),
    "statsmodels.tsa.ardl": Table(
        "ARDL ardl_select_order ARDLOrderSelectionResults ARDLResults BoundsTestResult UECM UECMResults"
    ),
    "statsmodels.tsa.arima.api": Table("ARIMA"),
    "statsmodels.tsa.arima.model": Table("ARIMA ARIMAResults", internal="ARIMAResultsWrapper"),
    "statsmodels.tsa.arima_process": Table(
        """
            arma2ar arma2ma ArmaProcess arma_acf arma_acovf arma_generate_sample arma_impulse_response deconvolve
            index2lpol lpol2index
        """
    ),
    "statsmodels.tsa.deterministic": Table(
        """
            CalendarDeterministicTerm CalendarFourier CalendarSeasonality CalendarTimeTrend DeterministicProcess
            DeterministicTerm Fourier FourierDeterministicTerm Seasonality TimeTrend TimeTrendDeterministicTerm
        """
    ),
    "statsmodels.tsa.exponential_smoothing.ets": Table(
        "ETSModel ETSResults PredictionResults",
        internal="descriptions ETSResultsWrapper fmt_params PredictionResultsWrapper",
    ),
    "statsmodels.tsa.filters.bk_filter": Table("bkfilter"),
    "statsmodels.tsa.filters.cf_filter": Table("cffilter"),
    "statsmodels.tsa.filters.hp_filter": Table("hpfilter"),
    "statsmodels.tsa.forecasting.stl": Table("STLForecast STLForecastResults"),
    "statsmodels.tsa.forecasting.theta": Table("extend_index ThetaModel ThetaModelResults"),
    "statsmodels.tsa.holtwinters": Table(
        "ExponentialSmoothing Holt HoltWintersResults SimpleExpSmoothing", internal="PY_SMOOTHERS SMOOTHERS"
    ),
    "statsmodels.tsa.regime_switching.markov_autoregression": Table(
        "MarkovAutoregression MarkovAutoregressionResults", internal="MarkovAutoregressionResultsWrapper"
    ),
    "statsmodels.tsa.regime_switching.markov_regression": Table(
        "MarkovRegression MarkovRegressionResults", internal="MarkovRegressionResultsWrapper"
    ),
    "statsmodels.tsa.seasonal": Table("DecomposeResult MSTL seasonal_decompose seasonal_mean STL"),
    "statsmodels.tsa.statespace.api": Table("ExponentialSmoothing Initialization MLEModel MLEResults SARIMAX"),
    "statsmodels.tsa.statespace.dynamic_factor": Table(
        "DynamicFactor DynamicFactorResults", internal="DynamicFactorResultsWrapper"
    ),
    "statsmodels.tsa.statespace.mlemodel": Table(
        "MLEModel MLEResults PredictionResults", internal="MLEResultsWrapper PredictionResultsWrapper"
    ),
    "statsmodels.tsa.statespace.sarimax": Table("SARIMAX SARIMAXResults", internal="SARIMAXResultsWrapper"),
    "statsmodels.tsa.statespace.structural": Table(
        "UnobservedComponents UnobservedComponentsResults", internal="UnobservedComponentsResultsWrapper"
    ),
    "statsmodels.tsa.statespace.varmax": Table("VARMAX VARMAXResults", internal="VARMAXResultsWrapper"),
    "statsmodels.tsa.stattools": Table(
        """
            acf AcfResult acovf adfuller ADFullerResult arma_order_select_ic bds block_jackknife
            breakvar_heteroskedasticity_test BreakvarHeteroskedasticityResult ccf CcfResult ccovf coint CointResult
            diebold_mariano_test DieboldMarianoResult grangercausalitytests innovations_algo innovations_filter
            JackknifeResult kpss KPSSResult lagmat lagmat2ds levinson_durbin levinson_durbin_pacf
            LevinsonDurbinPacfResult LevinsonDurbinResult leybourne pacf pacf_burg pacf_ols pacf_yw PacfBurgResult
            PacfResult pccf PccfResult q_stat QStatResult range_unit_root_test RURResult zivot_andrews
        """
    ),
    "statsmodels.tsa.tsatools": Table(
        """
            add_trend commutation_matrix duplication_matrix elimination_matrix freq_to_period lagmat lagmat2ds
            LagmatResult unvec unvech vec vech
        """
    ),
    "statsmodels.tsa.vector_ar.api": Table("SVAR VAR"),
    "statsmodels.tsa.vector_ar.svar_model": Table("SVAR svar_ckerr SVARProcess SVARResults"),
    "statsmodels.tsa.vector_ar.var_model": Table(
        """
            FEVD forecast forecast_cov forecast_interval is_stable LagOrderResults ma_rep mse orth_ma_rep test_normality
            VAR var_acf var_loglike VARProcess VARResults
        """,
        internal="VARResultsWrapper",
    ),
    "statsmodels.tsa.vector_ar.vecm": Table(
        "coint_johansen CointRankResults JohansenTestResult select_coint_rank select_order VECM VECMResults"
    ),
    "statsmodels.datasets": Table(
        refuse={
            "check_internet get_rdataset webuse": NETWORK,
            "clear_data_home get_data_home": FILES,
            "test": LIBRARY_TESTS,
        }
    ),
}
