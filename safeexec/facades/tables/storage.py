"""Small databases and plain text formats of data: sqlite3, yaml."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import INTERNAL, INTERPRETER, PICKLE

TABLES = {
    "sqlite3": Table(
        """
            adapt adapters apilevel Binary Blob complete_statement connect Connection converters Cursor DatabaseError
            DataError Date DateFromTicks Error IntegrityError InterfaceError InternalError LEGACY_TRANSACTION_CONTROL
            NotSupportedError OperationalError paramstyle PARSE_COLNAMES PARSE_DECLTYPES ProgrammingError
            register_adapter register_converter Row sqlite_version sqlite_version_info threadsafety Time TimeFromTicks
            Timestamp TimestampFromTicks version version_info Warning
        """,
        refuse={"enable_callback_tracebacks enable_shared_cache": INTERPRETER, "PrepareProtocol": INTERNAL},
        note="files are the workspace's: the kernel holds it. Extensions and setconfig are refused by their names.",
    ),
    "yaml": Table(
        """
            BaseLoader compose compose_all CSafeDumper CSafeLoader Mark MarkedYAMLError MappingNode Node parse safe_dump
            safe_dump_all safe_load safe_load_all SafeDumper SafeLoader ScalarNode scan SequenceNode serialize
            serialize_all YAMLError
        """,
        replaced="add_constructor add_representer dump dump_all Dumper full_load FullLoader load load_all",
        refuse={
            "CFullLoader CLoader CUnsafeLoader Loader unsafe_load unsafe_load_all UnsafeLoader": PICKLE,
            "BaseDumper CBaseDumper CBaseLoader CDumper full_load_all YAMLObject YAMLObjectMetaclass": INTERNAL,
            "warnings": INTERNAL,
        },
        internal="""
            add_implicit_resolver add_multi_constructor add_multi_representer add_path_resolver AliasEvent AliasToken
            AnchorToken BlockEndToken BlockEntryToken BlockMappingStartToken BlockSequenceStartToken CollectionEndEvent
            CollectionNode CollectionStartEvent DirectiveToken DocumentEndEvent DocumentEndToken DocumentStartEvent
            DocumentStartToken emit Event FlowEntryToken FlowMappingEndToken FlowMappingStartToken FlowSequenceEndToken
            FlowSequenceStartToken KeyToken MappingEndEvent MappingStartEvent NodeEvent ScalarEvent ScalarToken
            SequenceEndEvent SequenceStartEvent StreamEndEvent StreamEndToken StreamStartEvent StreamStartToken TagToken
            Token ValueToken
        """,
        note="plain data only: FullLoader is the safe one, Dumper writes no object of a program.",
    ),
}
