# id: aw-event-loop-dict
# class: attribute-walk
# expect: blocked-at-run
# layer: language
# proves: prints ESCAPED pid; the dict of an event loop holds its sockets
# severity: escape
# oracle: marker

import asyncio
async def main():
    held = vars(asyncio.get_running_loop())
    print("ESCAPED", held["_csock"].fileno(), held["_selector"])
asyncio.run(main())
