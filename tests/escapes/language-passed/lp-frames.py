# expect: contained
# layer: kernel
# proves: a task tells its frames
# severity: primitive
# oracle: drop
# then: reach

import asyncio
async def co(): return asyncio.current_task().get_stack()
async def main():
    t = asyncio.create_task(co()); return await t
fr = asyncio.run(main())
print(fr)
