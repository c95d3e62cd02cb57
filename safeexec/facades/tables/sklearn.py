"""scikit-learn: machine learning. Out: data sets that are downloaded, the estimators' own tests."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import FILES, MACHINE, NETWORK

TABLES = {
    "sklearn": Table("clone config_context get_config set_config", refuse={"show_versions": MACHINE}),
    "sklearn.base": Table(
        """
            BaseEstimator BiclusterMixin ClassifierMixin ClassNamePrefixFeaturesOutMixin clone ClusterMixin DensityMixin
            InconsistentVersionWarning is_classifier is_clusterer is_outlier_detector is_regressor MetaEstimatorMixin
            MultiOutputMixin OneToOneFeatureMixin OutlierMixin RegressorMixin TransformerMixin
        """
    ),
    "sklearn.calibration": Table("CalibratedClassifierCV calibration_curve CalibrationDisplay", internal="expit"),
    "sklearn.cluster": Table(
        """
            affinity_propagation AffinityPropagation AgglomerativeClustering Birch BisectingKMeans cluster_optics_dbscan
            cluster_optics_xi compute_optics_graph DBSCAN dbscan estimate_bandwidth FeatureAgglomeration get_bin_seeds
            HDBSCAN k_means KMeans kmeans_plusplus linkage_tree mean_shift MeanShift MiniBatchKMeans OPTICS
            spectral_clustering SpectralBiclustering SpectralClustering SpectralCoclustering ward_tree
        """
    ),
    "sklearn.compose": Table(
        "ColumnTransformer make_column_selector make_column_transformer TransformedTargetRegressor"
    ),
    "sklearn.covariance": Table(
        """
            EllipticEnvelope empirical_covariance EmpiricalCovariance fast_mcd graphical_lasso GraphicalLasso
            GraphicalLassoCV ledoit_wolf ledoit_wolf_shrinkage LedoitWolf log_likelihood MinCovDet OAS oas
            shrunk_covariance ShrunkCovariance
        """
    ),
    "sklearn.cross_decomposition": Table("CCA PLSCanonical PLSRegression PLSSVD"),
    "sklearn.datasets": Table(
        """
            load_breast_cancer load_diabetes load_digits load_iris load_linnerud load_sample_image load_sample_images
            load_wine make_biclusters make_blobs make_checkerboard make_circles make_classification make_friedman1
            make_friedman2 make_friedman3 make_gaussian_quantiles make_hastie_10_2 make_low_rank_matrix make_moons
            make_multilabel_classification make_regression make_s_curve make_sparse_coded_signal make_sparse_spd_matrix
            make_sparse_uncorrelated make_spd_matrix make_swiss_roll
        """,
        files="dump_svmlight_file load_files load_svmlight_file load_svmlight_files",
        refuse={
            "clear_data_home get_data_home": FILES,
            "fetch_20newsgroups fetch_20newsgroups_vectorized fetch_california_housing fetch_covtype fetch_file "
            "fetch_kddcup99 fetch_lfw_pairs fetch_lfw_people fetch_olivetti_faces fetch_openml fetch_rcv1 "
            "fetch_species_distributions": NETWORK,
        },
    ),
    "sklearn.decomposition": Table(
        """
            dict_learning dict_learning_online DictionaryLearning FactorAnalysis FastICA fastica IncrementalPCA
            KernelPCA LatentDirichletAllocation MiniBatchDictionaryLearning MiniBatchNMF MiniBatchSparsePCA NMF
            non_negative_factorization PCA randomized_svd sparse_encode SparseCoder SparsePCA TruncatedSVD
        """
    ),
    "sklearn.discriminant_analysis": Table("LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis"),
    "sklearn.dummy": Table("DummyClassifier DummyRegressor"),
    "sklearn.ensemble": Table(
        """
            AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor BaseEnsemble ExtraTreesClassifier
            ExtraTreesRegressor GradientBoostingClassifier GradientBoostingRegressor HistGradientBoostingClassifier
            HistGradientBoostingRegressor IsolationForest RandomForestClassifier RandomForestRegressor
            RandomTreesEmbedding StackingClassifier StackingRegressor VotingClassifier VotingRegressor
        """
    ),
    "sklearn.exceptions": Table(
        """
            ConvergenceWarning DataConversionWarning DataDimensionalityWarning EfficiencyWarning
            EstimatorCheckFailedWarning FitFailedWarning NotFittedError PositiveSpectrumWarning SkipTestWarning
            UndefinedMetricWarning UnsetMetadataPassedError
        """
    ),
    "sklearn.experimental": Table(),
    "sklearn.experimental.enable_halving_search_cv": Table(),
    "sklearn.experimental.enable_iterative_imputer": Table(),
    "sklearn.feature_extraction": Table("DictVectorizer FeatureHasher grid_to_graph img_to_graph"),
    "sklearn.feature_extraction.text": Table(
        """
            CountVectorizer ENGLISH_STOP_WORDS HashingVectorizer strip_accents_ascii strip_accents_unicode strip_tags
            TfidfTransformer TfidfVectorizer
        """
    ),
    "sklearn.feature_extraction.image": Table(
        "extract_patches_2d grid_to_graph img_to_graph PatchExtractor reconstruct_from_patches_2d"
    ),
    "sklearn.feature_selection": Table(
        """
            chi2 f_classif f_oneway f_regression GenericUnivariateSelect mutual_info_classif mutual_info_regression
            r_regression RFE RFECV SelectFdr SelectFpr SelectFromModel SelectFwe SelectKBest SelectorMixin
            SelectPercentile SequentialFeatureSelector VarianceThreshold
        """
    ),
    "sklearn.frozen": Table("FrozenEstimator"),
    "sklearn.gaussian_process": Table("GaussianProcessClassifier GaussianProcessRegressor"),
    "sklearn.gaussian_process.kernels": Table(
        """
            CompoundKernel ConstantKernel DotProduct Exponentiation ExpSineSquared Hyperparameter Kernel Matern
            PairwiseKernel Product RationalQuadratic RBF Sum WhiteKernel
        """,
        internal="gamma GenericKernelMixin KernelOperator kv NormalizedKernelMixin StationaryKernelMixin",
    ),
    "sklearn.impute": Table("IterativeImputer KNNImputer MissingIndicator SimpleImputer"),
    "sklearn.inspection": Table(
        "DecisionBoundaryDisplay partial_dependence PartialDependenceDisplay permutation_importance"
    ),
    "sklearn.isotonic": Table("check_increasing isotonic_regression IsotonicRegression"),
    "sklearn.kernel_approximation": Table(
        "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler"
    ),
    "sklearn.kernel_ridge": Table("KernelRidge"),
    "sklearn.linear_model": Table(
        """
            ARDRegression BayesianRidge ElasticNet ElasticNetCV enet_path GammaRegressor HuberRegressor Lars lars_path
            lars_path_gram LarsCV Lasso lasso_path LassoCV LassoLars LassoLarsCV LassoLarsIC LinearRegression
            LogisticRegression LogisticRegressionCV MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso
            MultiTaskLassoCV orthogonal_mp orthogonal_mp_gram OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV
            PassiveAggressiveClassifier PassiveAggressiveRegressor Perceptron PoissonRegressor QuantileRegressor
            RANSACRegressor Ridge ridge_regression RidgeClassifier RidgeClassifierCV RidgeCV SGDClassifier
            SGDOneClassSVM SGDRegressor TheilSenRegressor TweedieRegressor
        """
    ),
    "sklearn.manifold": Table(
        """
            ClassicalMDS Isomap locally_linear_embedding LocallyLinearEmbedding MDS smacof spectral_embedding
            SpectralEmbedding trustworthiness TSNE
        """
    ),
    "sklearn.metrics": Table(
        """
            accuracy_score adjusted_mutual_info_score adjusted_rand_score auc average_precision_score
            balanced_accuracy_score brier_score_loss calinski_harabasz_score check_scoring class_likelihood_ratios
            classification_report cohen_kappa_score completeness_score confusion_matrix confusion_matrix_at_thresholds
            ConfusionMatrixDisplay consensus_score coverage_error d2_absolute_error_score d2_brier_score
            d2_log_loss_score d2_pinball_score d2_tweedie_score davies_bouldin_score dcg_score det_curve DetCurveDisplay
            DistanceMetric euclidean_distances explained_variance_score f1_score fbeta_score fowlkes_mallows_score
            get_scorer get_scorer_names hamming_loss hinge_loss homogeneity_completeness_v_measure homogeneity_score
            jaccard_score label_ranking_average_precision_score label_ranking_loss log_loss make_scorer
            matthews_corrcoef max_error mean_absolute_error mean_absolute_percentage_error mean_gamma_deviance
            mean_pinball_loss mean_poisson_deviance mean_squared_error mean_squared_log_error mean_tweedie_deviance
            median_absolute_error metric_at_thresholds multilabel_confusion_matrix mutual_info_score
            nan_euclidean_distances ndcg_score normalized_mutual_info_score pair_confusion_matrix pairwise_distances
            pairwise_distances_argmin pairwise_distances_argmin_min pairwise_distances_chunked pairwise_kernels
            precision_recall_curve precision_recall_fscore_support precision_score PrecisionRecallDisplay
            PredictionErrorDisplay r2_score rand_score recall_score roc_auc_score roc_curve RocCurveDisplay
            root_mean_squared_error root_mean_squared_log_error silhouette_samples silhouette_score top_k_accuracy_score
            v_measure_score zero_one_loss
        """
    ),
    "sklearn.metrics.pairwise": Table(
        """
            additive_chi2_kernel check_paired_arrays check_pairwise_arrays chi2_kernel cosine_distances
            cosine_similarity distance_metrics euclidean_distances haversine_distances kernel_metrics laplacian_kernel
            linear_kernel manhattan_distances nan_euclidean_distances paired_cosine_distances PAIRED_DISTANCES
            paired_distances paired_euclidean_distances paired_manhattan_distances PAIRWISE_DISTANCE_FUNCTIONS
            pairwise_distances pairwise_distances_argmin pairwise_distances_argmin_min pairwise_distances_chunked
            PAIRWISE_KERNEL_FUNCTIONS pairwise_kernels polynomial_kernel rbf_kernel sigmoid_kernel
        """
    ),
    "sklearn.metrics.cluster": Table(
        """
            adjusted_mutual_info_score adjusted_rand_score calinski_harabasz_score completeness_score consensus_score
            contingency_matrix davies_bouldin_score entropy expected_mutual_information fowlkes_mallows_score
            homogeneity_completeness_v_measure homogeneity_score mutual_info_score normalized_mutual_info_score
            pair_confusion_matrix rand_score silhouette_samples silhouette_score v_measure_score
        """
    ),
    "sklearn.mixture": Table("BayesianGaussianMixture GaussianMixture"),
    "sklearn.model_selection": Table(
        """
            BaseCrossValidator BaseShuffleSplit check_cv cross_val_predict cross_val_score cross_validate
            FixedThresholdClassifier GridSearchCV GroupKFold GroupShuffleSplit HalvingGridSearchCV HalvingRandomSearchCV
            KFold learning_curve LearningCurveDisplay LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut
            ParameterGrid ParameterSampler permutation_test_score PredefinedSplit RandomizedSearchCV RepeatedKFold
            RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit
            TimeSeriesSplit train_test_split TunedThresholdClassifierCV validation_curve ValidationCurveDisplay
        """
    ),
    "sklearn.multiclass": Table("OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier"),
    "sklearn.multioutput": Table("ClassifierChain MultiOutputClassifier MultiOutputRegressor RegressorChain"),
    "sklearn.naive_bayes": Table("BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB"),
    "sklearn.neighbors": Table(
        """
            BallTree KDTree KernelDensity kneighbors_graph KNeighborsClassifier KNeighborsRegressor
            KNeighborsTransformer LocalOutlierFactor NearestCentroid NearestNeighbors NeighborhoodComponentsAnalysis
            radius_neighbors_graph RadiusNeighborsClassifier RadiusNeighborsRegressor RadiusNeighborsTransformer
            sort_graph_by_row_values VALID_METRICS VALID_METRICS_SPARSE
        """
    ),
    "sklearn.neural_network": Table("BernoulliRBM MLPClassifier MLPRegressor"),
    "sklearn.pipeline": Table("FeatureUnion make_pipeline make_union Pipeline"),
    "sklearn.preprocessing": Table(
        """
            add_dummy_feature binarize Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer label_binarize
            LabelBinarizer LabelEncoder maxabs_scale MaxAbsScaler minmax_scale MinMaxScaler MultiLabelBinarizer
            normalize Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures power_transform PowerTransformer
            quantile_transform QuantileTransformer robust_scale RobustScaler scale SplineTransformer StandardScaler
            TargetEncoder
        """
    ),
    "sklearn.random_projection": Table("GaussianRandomProjection johnson_lindenstrauss_min_dim SparseRandomProjection"),
    "sklearn.semi_supervised": Table("LabelPropagation LabelSpreading SelfTrainingClassifier"),
    "sklearn.svm": Table("l1_min_c LinearSVC LinearSVR NuSVC NuSVR OneClassSVM SVC SVR"),
    "sklearn.tree": Table(
        """
            BaseDecisionTree DecisionTreeClassifier DecisionTreeRegressor export_graphviz export_text
            ExtraTreeClassifier ExtraTreeRegressor plot_tree
        """
    ),
    "sklearn.utils": Table(
        """
            as_float_array assert_all_finite Bunch check_array check_consistent_length check_random_state check_scalar
            check_symmetric check_X_y column_or_1d compute_class_weight compute_sample_weight deprecated
            estimator_html_repr gen_batches gen_even_slices indexable murmurhash3_32 resample safe_mask safe_sqr shuffle
        """,
        internal="""
            all_estimators ClassifierTags DataConversionWarning get_tags InputTags RegressorTags Tags TargetTags
            TransformerTags
        """,
    ),
    "sklearn.utils.class_weight": Table("compute_class_weight compute_sample_weight"),
    "sklearn.utils.multiclass": Table(
        "check_classification_targets class_distribution is_multilabel type_of_target unique_labels"
    ),
    "sklearn.utils.validation": Table(
        """
            as_float_array assert_all_finite check_array check_consistent_length check_is_fitted check_non_negative
            check_random_state check_scalar check_symmetric check_X_y column_or_1d has_fit_parameter indexable
            validate_data
        """,
        internal="check_memory",
    ),
    "sklearn.utils.extmath": Table(
        """
            cartesian density fast_logdet randomized_range_finder randomized_svd row_norms safe_sparse_dot softmax
            squared_norm stable_cumsum svd_flip weighted_mode
        """,
        internal="make_nonnegative safe_sqr",
    ),
    "sklearn.utils.random": Table("sample_without_replacement"),
}
