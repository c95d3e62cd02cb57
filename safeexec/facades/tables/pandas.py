"""pandas: tables of data. Out: pickle, databases, the clipboard, web pages."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import LIBRARY_TESTS, MACHINE, NETWORK, PICKLE, PROCESS

TABLES = {
    "pandas": Table(
        """
            array ArrowDtype bdate_range BooleanDtype Categorical CategoricalDtype CategoricalIndex col concat crosstab
            cut DataFrame date_range DateOffset DatetimeIndex DatetimeTZDtype describe_option factorize Flags
            Float32Dtype Float64Dtype from_dummies get_dummies get_option Grouper Index IndexSlice infer_freq Int16Dtype
            Int32Dtype Int64Dtype Int8Dtype Interval interval_range IntervalDtype IntervalIndex isna isnull
            json_normalize lreshape melt merge merge_asof merge_ordered MultiIndex NA NamedAgg NamedFunc NaT notna
            notnull option_context options Period period_range PeriodDtype PeriodIndex pivot pivot_table qcut RangeIndex
            reset_option Series set_eng_float_format set_option SparseDtype StringDtype Timedelta timedelta_range
            TimedeltaIndex Timestamp to_datetime to_numeric to_timedelta UInt16Dtype UInt32Dtype UInt64Dtype UInt8Dtype
            unique wide_to_long
        """,
        files="""
            ExcelFile ExcelWriter read_csv read_excel read_feather read_fwf read_html read_json read_orc read_parquet
            read_sas read_spss read_stata read_table read_xml
        """,
        evaluates="eval",
        replaced="read_sql read_sql_query",
        refuse={
            "test": LIBRARY_TESTS,
            "show_versions": MACHINE,
            "read_iceberg read_sql_table": NETWORK,
            "HDFStore read_hdf read_pickle to_pickle": PICKLE,
            "read_clipboard": PROCESS,
        },
        aliases={"offsets": "pandas.tseries.offsets"},
    ),
    "pandas.api": Table(),
    "pandas.api.types": Table(
        """
            CategoricalDtype DatetimeTZDtype infer_dtype IntervalDtype is_any_real_numeric_dtype is_array_like is_bool
            is_bool_dtype is_categorical_dtype is_complex is_complex_dtype is_datetime64_any_dtype is_datetime64_dtype
            is_datetime64_ns_dtype is_datetime64tz_dtype is_dict_like is_dtype_equal is_extension_array_dtype
            is_file_like is_float is_float_dtype is_hashable is_int64_dtype is_integer is_integer_dtype
            is_interval_dtype is_iterator is_list_like is_named_tuple is_number is_numeric_dtype is_object_dtype
            is_period_dtype is_re is_re_compilable is_scalar is_signed_integer_dtype is_sparse is_string_dtype
            is_timedelta64_dtype is_timedelta64_ns_dtype is_unsigned_integer_dtype pandas_dtype PeriodDtype
            union_categoricals
        """
    ),
    "pandas.api.extensions": Table(
        """
            ExtensionArray ExtensionDtype ExtensionScalarOpsMixin no_default register_dataframe_accessor
            register_extension_dtype register_index_accessor register_series_accessor take
        """
    ),
    "pandas.api.indexers": Table(
        "BaseIndexer check_array_indexer FixedForwardWindowIndexer VariableOffsetWindowIndexer"
    ),
    "pandas.errors": Table(
        """
            AbstractMethodError AttributeConflictWarning CategoricalConversionWarning ChainedAssignmentError
            ClosedFileError CSSWarning DatabaseError DataError DtypeWarning DuplicateLabelError EmptyDataError
            IncompatibilityWarning IncompatibleFrequency IndexingError IntCastingNaNError InvalidColumnName
            InvalidComparison InvalidIndexError InvalidVersion LossySetitemError MergeError NoBufferPresent
            NullFrequencyError NumbaUtilError NumExprClobberingError OptionError OutOfBoundsDatetime
            OutOfBoundsTimedelta Pandas4Warning Pandas5Warning PandasChangeWarning PandasDeprecationWarning
            PandasFutureWarning PandasPendingDeprecationWarning ParserError ParserWarning PerformanceWarning
            PossibleDataLossError PossiblePrecisionLoss PyperclipException PyperclipWindowsException SpecificationError
            UndefinedVariableError UnsortedIndexError UnsupportedFunctionCall ValueLabelTypeMismatch
        """
    ),
    "pandas.arrays": Table(
        """
            ArrowExtensionArray ArrowStringArray BooleanArray Categorical DatetimeArray FloatingArray IntegerArray
            IntervalArray NumpyExtensionArray PeriodArray SparseArray StringArray TimedeltaArray
        """
    ),
    "pandas.plotting": Table(
        """
            andrews_curves autocorrelation_plot bootstrap_plot boxplot boxplot_frame boxplot_frame_groupby
            deregister_matplotlib_converters hist_frame hist_series lag_plot parallel_coordinates plot_params
            PlotAccessor radviz register_matplotlib_converters scatter_matrix table
        """
    ),
    "pandas.tseries": Table("TYPE_CHECKING"),
    "pandas.tseries.offsets": Table(
        """
            BaseOffset BDay BHalfYearBegin BHalfYearEnd BMonthBegin BMonthEnd BQuarterBegin BQuarterEnd BusinessDay
            BusinessHour BusinessMonthBegin BusinessMonthEnd BYearBegin BYearEnd CBMonthBegin CBMonthEnd CDay
            CustomBusinessDay CustomBusinessHour CustomBusinessMonthBegin CustomBusinessMonthEnd DateOffset Day Easter
            FY5253 FY5253Quarter HalfYearBegin HalfYearEnd Hour LastWeekOfMonth Micro Milli Minute MonthBegin MonthEnd
            Nano QuarterBegin QuarterEnd Second SemiMonthBegin SemiMonthEnd Tick Week WeekOfMonth YearBegin YearEnd
        """
    ),
    "pandas.tseries.frequencies": Table("Day get_period_alias infer_freq is_subperiod is_superperiod to_offset"),
    "pandas.tseries.holiday": Table(
        """
            AbstractHolidayCalendar after_nearest_workday before_nearest_workday DateOffset Day Easter EasterMonday FR
            get_calendar GoodFriday Holiday HolidayCalendarFactory MO nearest_workday next_monday next_monday_or_tuesday
            next_workday previous_friday previous_workday register SA SU sunday_to_monday TH TU USColumbusDay
            USFederalHolidayCalendar USLaborDay USMartinLutherKingJr USMemorialDay USPresidentsDay USThanksgivingDay WE
            weekend_to_monday
        """
    ),
    "pandas.testing": Table("assert_extension_array_equal assert_frame_equal assert_index_equal assert_series_equal"),
    "pandas.util": Table("hash_array hash_pandas_object"),
}
