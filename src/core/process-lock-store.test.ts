import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isProcessLockHeld, takeProcessLock } from './process-lock-store.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearthbus-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('process lock', () => {
  it('can be held by one process at a time and be released', () => {
    const path = join(folder, 'gateway.lock')
    const first = takeProcessLock(path)
    expect(first).toBeDefined()
    expect(takeProcessLock(path)).toBeUndefined()
    expect(isProcessLockHeld(path)).toBe(true)
    first?.release()
    expect(isProcessLockHeld(path)).toBe(false)
    const second = takeProcessLock(path)
    expect(second).toBeDefined()
    second?.release()
  })

  it('notices that its file was moved', () => {
    const path = join(folder, 'gateway.lock')
    const first = takeProcessLock(path)
    expect(first?.isInPlace()).toBe(true)
    renameSync(path, `${path}.moved`)
    expect(first?.isInPlace()).toBe(false)
    const second = takeProcessLock(path)
    expect(second?.isInPlace()).toBe(true)
    expect(first?.isInPlace()).toBe(false)
    for (const lock of [first, second]) lock?.release()
  })

  it('is free again after its holder was killed', async () => {
    const path = join(folder, 'gateway.lock')
    const module = new URL('./process-lock-store.ts', import.meta.url).href
    const script = `import { isProcessLockHeld, takeProcessLock } from '${module}'; globalThis.lock = takeProcessLock('${path}'); console.log('held'); setInterval(() => {}, 1000)`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    expect(takeProcessLock(path)).toBeUndefined()
    expect(isProcessLockHeld(path)).toBe(true)
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    expect(isProcessLockHeld(path)).toBe(false)
    const lock = takeProcessLock(path)
    expect(lock).toBeDefined()
    lock?.release()
  })

  it('is not held if its file is missing or is not a lock file', () => {
    expect(isProcessLockHeld(join(folder, 'gateway.lock'))).toBe(false)
    writeFileSync(join(folder, 'note.txt'), 'not a lock, only a text that is long enough')
    expect(isProcessLockHeld(join(folder, 'note.txt'))).toBe(false)
  })
})
