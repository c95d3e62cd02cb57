"""Columns in memory and Parquet: pyarrow."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import EVALUATES, FILES, IMPORTS, INTERPRETER, MACHINE, MEMORY, MODULE, Reason

_MAPPED = Reason("memory", "it maps a file into memory, which is not counted; pyarrow.input_stream reads it")
_SERVICE = Reason("network", "it reaches file systems and services elsewhere")

TABLES = {
    "pyarrow": Table(
        """
            Array ArrowCancelled ArrowCapacityError ArrowException ArrowIOError ArrowIndexError ArrowInvalid
            ArrowKeyError ArrowMemoryError ArrowNotImplementedError ArrowSerializationError ArrowTypeError
            BaseExtensionType BinaryArray BinaryScalar BinaryViewArray BinaryViewScalar Bool8Array Bool8Scalar Bool8Type
            BooleanArray BooleanScalar BufferOutputStream CacheOptions ChunkedArray Codec DataType Date32Array
            Date32Scalar Date64Array Date64Scalar Decimal128Array Decimal128Scalar Decimal128Type Decimal256Array
            Decimal256Scalar Decimal256Type Decimal32Array Decimal32Scalar Decimal32Type Decimal64Array Decimal64Scalar
            Decimal64Type DenseUnionType DictionaryArray DictionaryMemo DictionaryScalar DictionaryType DoubleArray
            DoubleScalar DurationArray DurationScalar DurationType Field FixedShapeTensorArray FixedShapeTensorScalar
            FixedShapeTensorType FixedSizeBinaryArray FixedSizeBinaryScalar FixedSizeBinaryType FixedSizeListArray
            FixedSizeListScalar FixedSizeListType FloatArray FloatScalar FloatingPointArray HalfFloatArray
            HalfFloatScalar Int16Array Int16Scalar Int32Array Int32Scalar Int64Array Int64Scalar Int8Array Int8Scalar
            IntegerArray JsonArray JsonScalar JsonType KeyValueMetadata LargeBinaryArray LargeBinaryScalar
            LargeListArray LargeListScalar LargeListType LargeListViewArray LargeListViewScalar LargeListViewType
            LargeStringArray LargeStringScalar ListArray ListScalar ListType ListViewArray ListViewScalar ListViewType
            MapArray MapScalar MapType Message MetadataVersion MonthDayNano MonthDayNanoIntervalArray
            MonthDayNanoIntervalScalar NA NULL NullArray NullScalar NumericArray OpaqueArray OpaqueScalar OpaqueType
            RecordBatch RecordBatchReader RunEndEncodedArray RunEndEncodedScalar RunEndEncodedType Scalar Schema
            SparseUnionType StringArray StringScalar StringViewArray StringViewScalar StructArray StructScalar
            StructType Table TableGroupBy Tensor Time32Array Time32Scalar Time32Type Time64Array Time64Scalar Time64Type
            TimestampArray TimestampScalar TimestampType UInt16Array UInt16Scalar UInt32Array UInt32Scalar UInt64Array
            UInt64Scalar UInt8Array UInt8Scalar UnionArray UnionScalar UnionType UuidArray UuidScalar UuidType arange
            array binary binary_view bool8 bool_ chunked_array compress concat_arrays concat_batches concat_tables
            cpp_version cpp_version_info cpu_count date32 date64 decimal128 decimal256 decimal32 decimal64 decompress
            dense_union deserialize_pandas dictionary duration field fixed_shape_tensor float16 float32 float64
            from_numpy_dtype infer_type int16 int32 int64 int8 io_thread_count json_ large_binary large_list
            large_list_view large_string large_utf8 list_ list_view map_ month_day_nano_interval null nulls opaque
            record_batch repeat run_end_encoded scalar schema serialize_pandas sparse_union string string_view struct
            table time32 time64 timestamp total_allocated_bytes type_for_alias uint16 uint32 uint64 uint8 unify_schemas
            union utf8 uuid
        """,
        files="""
            BufferedInputStream BufferedOutputStream CompressedInputStream CompressedOutputStream OSFile input_stream
            output_stream
        """,
        refuse={
            "Buffer BufferReader ResizableBuffer FixedSizeBufferWriter allocate_buffer foreign_buffer": MEMORY,
            "py_buffer Device DeviceAllocationType MemoryManager default_cpu_memory_manager": MEMORY,
            "SparseCOOTensor SparseCSCMatrix SparseCSFTensor SparseCSRMatrix": MEMORY,
            "MemoryMappedFile create_memory_map memory_map": _MAPPED,
            "ExtensionType ExtensionArray ExtensionScalar UnknownExtensionType": EVALUATES,
            "register_extension_type unregister_extension_type": INTERPRETER,
            "LoggingMemoryPool MemoryPool ProxyMemoryPool default_memory_pool jemalloc_memory_pool": INTERPRETER,
            "jemalloc_set_decay_ms log_memory_allocations logging_memory_pool mimalloc_memory_pool": INTERPRETER,
            "proxy_memory_pool set_cpu_count set_io_thread_count set_memory_pool system_memory_pool": INTERPRETER,
            "supported_memory_backends enable_signal_handlers set_timezone_db_path": INTERPRETER,
            "BuildInfo CppBuildInfo RuntimeInfo VersionInfo build_info cpp_build_info runtime_info": MACHINE,
            "get_include get_libraries get_library_dirs have_libhdfs is_opentelemetry_enabled": MACHINE,
            "show_info show_versions": MACHINE,
            "create_library_symlinks": FILES,
            "lib util vendored": MODULE,
            "fs flight": _SERVICE,
        },
        internal="""
            MessageReader MockOutputStream NativeFile PythonFile RecordBatchFileReader RecordBatchFileWriter
            RecordBatchStreamReader RecordBatchStreamWriter TransformInputStream transcoding_input_stream
        """,
        note="attributes that begin with an underscore (_export_to_c, _import_from_c) take addresses: guarded by name.",
    ),
    "pyarrow.types": Table(
        """
            is_binary is_binary_view is_boolean is_boolean_value is_date is_date32 is_date64 is_decimal is_decimal128
            is_decimal256 is_decimal32 is_decimal64 is_dictionary is_duration is_fixed_size_binary is_fixed_size_list
            is_float16 is_float32 is_float64 is_float_value is_floating is_int16 is_int32 is_int64 is_int8 is_integer
            is_integer_value is_interval is_large_binary is_large_list is_large_list_view is_large_string
            is_large_unicode is_list is_list_view is_map is_nested is_null is_primitive is_run_end_encoded
            is_signed_integer is_string is_string_view is_struct is_temporal is_time is_time32 is_time64 is_timestamp
            is_uint16 is_uint32 is_uint64 is_uint8 is_unicode is_union is_unsigned_integer TypesEnum
        """
    ),
    "pyarrow.compute": Table(
        """
            ArraySortOptions AssumeTimezoneOptions CastOptions CountOptions CumulativeOptions CumulativeSumOptions
            DayOfWeekOptions DictionaryEncodeOptions ElementWiseAggregateOptions Expression ExtractRegexOptions
            ExtractRegexSpanOptions FilterOptions IndexOptions InversePermutationOptions JoinOptions ListFlattenOptions
            ListSliceOptions MakeStructOptions MapLookupOptions MatchSubstringOptions ModeOptions NullOptions PadOptions
            PairwiseOptions PartitionNthOptions PivotWiderOptions QuantileOptions RandomOptions RankOptions
            RankQuantileOptions ReplaceSliceOptions ReplaceSubstringOptions RoundBinaryOptions RoundOptions
            RoundTemporalOptions RoundToMultipleOptions RunEndEncodeOptions ScalarAggregateOptions ScatterOptions
            SearchSortedOptions SelectKOptions SetLookupOptions SkewOptions SliceOptions SortOptions SplitOptions
            SplitPatternOptions StrftimeOptions StrptimeOptions StructFieldOptions TDigestOptions TakeOptions
            TrimOptions Utf8NormalizeOptions VarianceOptions WeekOptions WinsorizeOptions ZeroFillOptions abs
            abs_checked acos acos_checked acosh acosh_checked add add_checked all and and_ and_kleene and_not
            and_not_kleene any approximate_median array_filter array_sort_indices array_take ascii_capitalize
            ascii_center ascii_is_alnum ascii_is_alpha ascii_is_decimal ascii_is_lower ascii_is_printable ascii_is_space
            ascii_is_title ascii_is_upper ascii_lower ascii_lpad ascii_ltrim ascii_ltrim_whitespace ascii_reverse
            ascii_rpad ascii_rtrim ascii_rtrim_whitespace ascii_split_whitespace ascii_swapcase ascii_title ascii_trim
            ascii_trim_whitespace ascii_upper asin asin_checked asinh assume_timezone atan atan2 atanh atanh_checked
            binary_join binary_join_element_wise binary_length binary_repeat binary_replace_slice binary_reverse
            binary_slice bit_wise_and bit_wise_not bit_wise_or bit_wise_xor bottom_k_unstable case_when cast ceil
            ceil_temporal choose coalesce cos cos_checked cosh count count_distinct count_substring
            count_substring_regex cumulative_max cumulative_mean cumulative_min cumulative_prod cumulative_prod_checked
            cumulative_sum cumulative_sum_checked day day_of_week day_of_year day_time_interval_between days_between
            dedent dictionary_decode dictionary_encode divide divide_checked drop_null ends_with equal exp expm1
            extract_regex extract_regex_span field fill_null fill_null_backward fill_null_forward filter find_substring
            find_substring_regex first first_last floor floor_temporal greater greater_equal hour hours_between hypot
            if_else index index_in index_in_meta_binary indices_nonzero inverse_permutation invert is_dst is_finite
            is_in is_in_meta_binary is_inf is_leap_year is_nan is_null is_valid iso_calendar iso_week iso_year kurtosis
            last less less_equal list_element list_flatten list_functions list_parent_indices list_slice
            list_value_length ln ln_checked local_timestamp log10 log10_checked log1p log1p_checked log2 log2_checked
            logb logb_checked make_struct map_lookup match_like match_substring match_substring_regex max
            max_element_wise mean microsecond microseconds_between millisecond milliseconds_between min min_element_wise
            min_max minute minutes_between mode modulo modulo_checked month month_day_nano_interval_between
            month_interval_between multiply multiply_checked nanosecond nanoseconds_between negate negate_checked
            not_equal or or_ or_kleene pairwise_diff pairwise_diff_checked partition_nth_indices pivot_wider power
            power_checked product quantile quarter quarters_between random rank rank_normal rank_quantile remainder
            remainder_checked replace_substring replace_substring_regex replace_with_mask round round_binary
            round_temporal round_to_multiple run_end_decode run_end_encode scalar scatter search_sorted second
            seconds_between select_k_unstable shift_left shift_left_checked shift_right shift_right_checked sign sin
            sin_checked sinh skew sort_indices split_pattern split_pattern_regex sqrt sqrt_checked starts_with stddev
            strftime string_is_ascii strptime struct_field subsecond subtract subtract_checked sum take tan tan_checked
            tanh tdigest top_k_unstable true_unless_null trunc unique us_week us_year utf8_capitalize utf8_center
            utf8_is_alnum utf8_is_alpha utf8_is_decimal utf8_is_digit utf8_is_lower utf8_is_numeric utf8_is_printable
            utf8_is_space utf8_is_title utf8_is_upper utf8_length utf8_lower utf8_lpad utf8_ltrim utf8_ltrim_whitespace
            utf8_normalize utf8_replace_slice utf8_reverse utf8_rpad utf8_rtrim utf8_rtrim_whitespace
            utf8_slice_codeunits utf8_split_whitespace utf8_swapcase utf8_title utf8_trim utf8_trim_whitespace
            utf8_upper utf8_zero_fill utf8_zfill value_counts variance week weeks_between winsorize xor year
            year_month_day years_between
        """,
        refuse={
            "UdfContext register_aggregate_function register_scalar_function": INTERPRETER,
            "register_tabular_function register_vector_function": INTERPRETER,
            "call_function call_tabular_function function_registry get_function": IMPORTS,
        },
    ),
    "pyarrow.parquet": Table(
        """
            ColumnChunkMetaData ColumnSchema FileMetaData ParquetLogicalType ParquetSchema RowGroupMetaData
            SortingColumn Statistics filters_to_expression
        """,
        files="""
            ParquetDataset ParquetFile ParquetWriter read_metadata read_pandas read_schema read_table write_metadata
            write_table write_to_dataset
        """,
    ),
    "pyarrow.csv": Table(
        "ConvertOptions ISO8601 InvalidRow ParseOptions ReadOptions WriteOptions",
        files="CSVStreamingReader CSVWriter open_csv read_csv write_csv",
    ),
    "pyarrow.json": Table("ParseOptions ReadOptions", files="open_json read_json"),
    "pyarrow.feather": Table(
        "FeatherError", files="read_feather read_table write_feather", internal="FeatherDataset check_chunked_overflow"
    ),
    "pyarrow.orc": Table(files="ORCFile ORCWriter read_table write_table"),
}
