import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeProcessLock } from './process-lock-store.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearthbus-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('process lock', () => {
  it('is held by one at a time and can be given back', () => {
    const path = join(folder, 'gateway.lock')
    const first = takeProcessLock(path)
    expect(first).toBeDefined()
    expect(takeProcessLock(path)).toBeUndefined()
    first?.release()
    const second = takeProcessLock(path)
    expect(second).toBeDefined()
    second?.release()
  })

  it('is free again when its holder was killed', async () => {
    const path = join(folder, 'gateway.lock')
    const module = new URL('./process-lock-store.ts', import.meta.url).href
    const script = `import { takeProcessLock } from '${module}'; takeProcessLock('${path}'); console.log('held'); setInterval(() => {}, 1000)`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    expect(takeProcessLock(path)).toBeUndefined()
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const lock = takeProcessLock(path)
    expect(lock).toBeDefined()
    lock?.release()
  })
})
