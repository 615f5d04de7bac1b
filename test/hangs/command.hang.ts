import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

const DEAF = `process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1e6) // deaf`

it('waits with spawnSync for a command that ignores SIGTERM', () => {
  expect(spawnSync(process.execPath, ['-e', DEAF]).status).toBe(null)
})
