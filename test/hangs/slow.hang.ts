import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'

/** More than twice the limit, in a process that anybody else comes before. */
const WORK_MS = Number(process.env['SLOW_WORK_MS'] ?? 7_000)
const WORK = `
  require('node:os').setPriority(19)
  const end = performance.now() + ${WORK_MS}
  while (performance.now() < end);`

it('waits for a slow command for as long as it works', async () => {
  expect(await once(spawn(process.execPath, ['-e', WORK]), 'close')).toEqual([0, null])
})
