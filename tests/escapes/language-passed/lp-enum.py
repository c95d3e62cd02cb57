# expect: contained
# layer: kernel
# proves: enum.property is handed out
# severity: primitive
# oracle: drop
# then: reach

# no effect on 3.11.7 (property has no _cls_type); 3.11.? / 3.12+: reads any name
import enum
print(enum.property)
