import logging
import sys
logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("app.part")
log.debug("value %d", 3)
log.warning("careful: %s", {"a": 1})
try:
    1 / 0
except ZeroDivisionError:
    log.error("failed", exc_info=False)
print(log, logging.getLevelName(30), log.isEnabledFor(10))
