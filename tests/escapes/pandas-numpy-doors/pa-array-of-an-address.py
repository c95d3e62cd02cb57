# id: pa-array-of-an-address
# class: pandas-numpy-doors
# expect: blocked-at-run
# layer: language
# proves: prints ESCAPED; Arrow's C data interface takes an address and makes an array of what lies there
# severity: escape
# oracle: marker
# needs: pyarrow

import pyarrow as pa

for name in ("_import_from_c", "_export_to_c", "_import_from_c_device", "_import_from_c_capsule", "_export_to_c_device"):
    for owner in (pa.Array, pa.Schema, pa.RecordBatch, pa.DataType, pa.RecordBatchReader, pa.array([1])):
        try:
            print("ESCAPED", getattr(owner, name))
        except (AttributeError, TypeError):
            pass
