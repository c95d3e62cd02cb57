# profile: confined-python
# timeout: 2
# ends: timeout crashed violation
# proves: a guest that keeps its socket readable stops the host's other work

import os
message = b"\x92\xa8progress\xa1x"
frame = (len(message).to_bytes(4, "little") + message) * 50
while True: os.write(3, frame)
