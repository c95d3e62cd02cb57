"""Classes, types, annotations and what looks at them."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import EVALUATES, FILES, FRAMES, IMPORTS, INTERNAL, INTERPRETER

TABLES = {
    "dataclasses": Table(
        "Field field fields FrozenInstanceError InitVar is_dataclass KW_ONLY MISSING",
        replaced="asdict astuple dataclass make_dataclass replace",
        note=(
            "the decorator builds source text from field names, the others read the attributes that fields name: "
            "the replacements look at the text and read under the rules."
        ),
    ),
    "builtins": Table(
        """
            abs aiter all anext any ArithmeticError ascii AssertionError AttributeError BaseException
            BaseExceptionGroup bin BlockingIOError bool BrokenPipeError BufferError bytearray bytes
            BytesWarning callable ChildProcessError chr classmethod compile complex ConnectionAbortedError
            ConnectionError ConnectionRefusedError ConnectionResetError delattr DeprecationWarning dict dir
            divmod Ellipsis EncodingWarning enumerate EnvironmentError EOFError eval Exception
            ExceptionGroup exec exit False FileExistsError FileNotFoundError filter float FloatingPointError
            format frozenset FutureWarning GeneratorExit getattr globals hasattr hash hex id ImportError
            ImportWarning IndentationError IndexError input int InterruptedError IOError IsADirectoryError
            isinstance issubclass iter KeyboardInterrupt KeyError len list locals LookupError map max
            MemoryError memoryview min ModuleNotFoundError NameError next None NotADirectoryError
            NotImplemented NotImplementedError object oct ord OSError OverflowError
            PendingDeprecationWarning PermissionError pow print ProcessLookupError property
            PythonFinalizationError quit range RecursionError ReferenceError repr ResourceWarning reversed
            round RuntimeError RuntimeWarning set setattr slice sorted staticmethod StopAsyncIteration
            StopIteration str sum super SyntaxError SyntaxWarning SystemError SystemExit TabError
            TimeoutError True tuple type TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError
            UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError vars Warning
            ZeroDivisionError zip
        """,
        files="open",
        refuse={"breakpoint copyright credits help license": INTERPRETER},
        note="a version of ours (safeexec.child.language.modules): the builtins of the program, as it finds them.",
    ),
    "importlib": Table(
        "import_module invalidate_caches reload",
        refuse={"find_loader": IMPORTS},
        note=(
            "a version of ours (safeexec.child.language.modules): what an import statement gives, and the "
            "program's own modules loaded again."
        ),
    ),
    "enum": Table(
        """
            auto CONFORM CONTINUOUS DynamicClassAttribute EJECT Enum EnumCheck EnumMeta EnumType Flag FlagBoundary
            IntEnum IntFlag KEEP member NAMED_FLAGS nonmember pickle_by_enum_name pickle_by_global_name property
            ReprEnum show_flag_values StrEnum STRICT UNIQUE unique verify
        """,
        replaced="global_enum",
        refuse={"EnumDict": INTERNAL, "global_enum_repr global_flag_repr global_str": INTERPRETER},
        note="global_enum writes into the module that a class names as its own: here that is the program.",
    ),
    "typing": Table(
        """
            AbstractSet Annotated Any AnyStr assert_never assert_type AsyncContextManager AsyncGenerator AsyncIterable
            AsyncIterator Awaitable BinaryIO ByteString Callable cast ChainMap ClassVar clear_overloads Collection
            Concatenate Container ContextManager Coroutine Counter dataclass_transform DefaultDict Deque Dict Final
            final FrozenSet Generator Generic get_args get_origin get_overloads get_protocol_members Hashable IO
            is_protocol is_typeddict ItemsView Iterable Iterator KeysView KT List Literal LiteralString Mapping
            MappingView Match MutableMapping MutableSequence MutableSet NamedTuple Never NewType
            no_type_check_decorator NoDefault NoReturn NotRequired Optional OrderedDict overload override ParamSpec
            ParamSpecArgs ParamSpecKwargs Pattern Protocol ReadOnly Required reveal_type Reversible runtime_checkable
            Self Sequence Set Sized SupportsAbs SupportsBytes SupportsComplex SupportsFloat SupportsIndex SupportsInt
            SupportsRound T Text TextIO Tuple Type TYPE_CHECKING TypeAlias TypeAliasType TypedDict TypeGuard TypeIs
            TypeVar TypeVarTuple Union Unpack ValuesView VT
        """,
        replaced="get_type_hints no_type_check",
        refuse={"evaluate_forward_ref ForwardRef": EVALUATES},
    ),
    "typing_extensions": Table(
        """
            AbstractSet Annotated Any AnyStr assert_never assert_type AsyncContextManager AsyncGenerator AsyncIterable
            AsyncIterator Awaitable BinaryIO Buffer Callable CapsuleType cast ChainMap ClassVar clear_overloads
            Collection Concatenate Container ContextManager Coroutine Counter dataclass_transform DefaultDict deprecated
            Deque Dict disjoint_base Doc Final final Format FrozenSet Generator Generic get_args get_origin
            get_original_bases get_overloads get_protocol_members Hashable IntVar IO is_protocol is_typeddict ItemsView
            Iterable Iterator KeysView List Literal LiteralString Mapping MappingView Match MutableMapping
            MutableSequence MutableSet NamedTuple Never NewType no_type_check_decorator NoDefault
            NoExtraItems NoReturn NotRequired Optional OrderedDict overload override ParamSpec ParamSpecArgs
            ParamSpecKwargs Pattern Protocol Reader ReadOnly Required reveal_type Reversible runtime runtime_checkable
            Self Sentinel sentinel Sequence Set Sized SupportsAbs SupportsBytes SupportsComplex SupportsFloat
            SupportsIndex SupportsInt SupportsRound Text TextIO Tuple Type TYPE_CHECKING type_repr TypeAlias
            TypeAliasType TypedDict TypeForm TypeGuard TypeIs TypeVar TypeVarTuple Union Unpack ValuesView Writer
        """,
        replaced="get_type_hints no_type_check",
        refuse={"evaluate_forward_ref ForwardRef get_annotations": EVALUATES},
    ),
    "types": Table(
        """
            AsyncGeneratorType BuiltinFunctionType BuiltinMethodType CapsuleType ClassMethodDescriptorType CoroutineType
            DynamicClassAttribute EllipsisType FunctionType GeneratorType GenericAlias get_original_bases
            GetSetDescriptorType LambdaType MappingProxyType MemberDescriptorType MethodDescriptorType MethodType
            MethodWrapperType new_class NoneType NotImplementedType prepare_class resolve_bases SimpleNamespace
            TracebackType UnionType WrapperDescriptorType
        """,
        replaced="coroutine ModuleType",
        refuse={"CellType CodeType FrameType": FRAMES},
        note=(
            "FunctionType is what type(f) gives: it makes functions of code objects, which nothing gives. ModuleType "
            "answers isinstance and cannot be called. coroutine changes the function that it is given. TracebackType, "
            "which annotates __exit__, makes nothing without a frame."
        ),
    ),
    "abc": Table(
        """
            ABC ABCMeta abstractclassmethod abstractmethod abstractproperty abstractstaticmethod get_cache_token
            update_abstractmethods
        """
    ),
    "contextlib": Table(
        """
            AbstractAsyncContextManager AbstractContextManager aclosing AsyncContextDecorator asynccontextmanager
            AsyncExitStack closing ContextDecorator contextmanager ExitStack nullcontext suppress
        """,
        replaced="redirect_stderr redirect_stdout",
        refuse={"chdir": INTERPRETER},
        note="the real redirect_stdout sets the attribute of sys that a subclass names.",
    ),
    "inspect": Table(
        """
            AGEN_CLOSED AGEN_CREATED AGEN_RUNNING AGEN_SUSPENDED BoundArguments BufferFlags cleandoc CO_ASYNC_GENERATOR
            CO_COROUTINE CO_GENERATOR CO_ITERABLE_COROUTINE CO_NESTED CO_NEWLOCALS CO_NOFREE CO_OPTIMIZED CO_VARARGS
            CO_VARKEYWORDS CORO_CLOSED CORO_CREATED CORO_RUNNING CORO_SUSPENDED formatannotation FullArgSpec GEN_CLOSED
            GEN_CREATED GEN_RUNNING GEN_SUSPENDED getasyncgenstate getcallargs getclasstree getcoroutinestate getdoc
            getfullargspec getgeneratorstate getmro isabstract isasyncgen isasyncgenfunction isawaitable isbuiltin
            isclass iscoroutine iscoroutinefunction isdatadescriptor isfunction isgenerator isgeneratorfunction
            isgetsetdescriptor ismemberdescriptor ismethod ismethoddescriptor ismethodwrapper isroutine
            markcoroutinefunction Parameter Signature
        """,
        replaced="get_annotations getmembers ismodule signature unwrap",
        refuse={
            "BlockFinder ClassFoundException EndOfBlock findsource getabsfile getblock getcomments getfile "
            "getsource getsourcefile getsourcelines indentsize": FILES,
            "ArgInfo Arguments Attribute classify_class_attrs ClosureVars currentframe formatargvalues "
            "FrameInfo getargs getargvalues getasyncgenlocals getattr_static getclosurevars getcoroutinelocals "
            "getframeinfo getgeneratorlocals getinnerframes getlineno getmembers_static getouterframes iscode "
            "isframe istraceback stack trace Traceback": FRAMES,
            "getmodule getmodulename": IMPORTS,
            "formatannotationrelativeto TPFLAGS_IS_ABSTRACT walktree": INTERNAL,
        },
    ),
    "ast": Table(
        """
            Add alias And AnnAssign arg arguments Assert Assign AST AsyncFor AsyncFunctionDef AsyncWith Attribute
            AugAssign AugLoad AugStore Await BinOp BitAnd BitOr BitXor BoolOp boolop Break Bytes Call ClassDef cmpop
            Compare comprehension Constant Continue copy_location Del Delete Dict DictComp Div dump Ellipsis Eq
            ExceptHandler excepthandler Expr expr expr_context Expression ExtSlice fix_missing_locations FloorDiv For
            FormattedValue FunctionDef FunctionType GeneratorExp get_docstring get_source_segment Global Gt GtE If IfExp
            Import ImportFrom In increment_lineno Index Interactive Invert Is IsNot iter_child_nodes JoinedStr keyword
            Lambda List ListComp literal_eval Load LShift Lt LtE Match match_case MatchAs MatchClass MatchMapping
            MatchOr MatchSequence MatchSingleton MatchStar MatchValue MatMult Mod mod Module Mult Name NameConstant
            NamedExpr NodeTransformer NodeVisitor Nonlocal Not NotEq NotIn Num operator Or Param ParamSpec parse Pass
            pattern Pow PyCF_ALLOW_TOP_LEVEL_AWAIT PyCF_ONLY_AST PyCF_OPTIMIZED_AST PyCF_TYPE_COMMENTS Raise Return
            RShift Set SetComp Slice slice Starred stmt Store Str Sub Subscript Suite Try TryStar Tuple type_ignore
            type_param TypeAlias TypeIgnore TypeVar TypeVarTuple UAdd UnaryOp unaryop unparse USub walk While With
            withitem Yield YieldFrom
        """,
        replaced="iter_fields",
        refuse={"main": INTERNAL},
        note=(
            "parsing and printing only: compile is not among the builtins. iter_fields reads the attributes that "
            "_fields names."
        ),
    ),
    "keyword": Table("iskeyword issoftkeyword kwlist softkwlist"),
    "__future__": Table(
        """
            absolute_import all_feature_names annotations barry_as_FLUFL division generator_stop generators
            nested_scopes print_function unicode_literals with_statement
        """
    ),
}
