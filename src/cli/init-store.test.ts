import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseConfig } from '../config/config-file.ts'
import { writeInitialConfig } from './init-store.ts'

const root = mkdtempSync(join(tmpdir(), 'hearthbus-init-'))
afterAll(() => rmSync(root, { recursive: true }))

describe('hearthbus init', () => {
  it('writes a valid configuration, and never changes an existing one', () => {
    const path = join(root, 'a', 'b', 'hearthbus.yaml')
    expect(writeInitialConfig(path).json).toEqual({ ok: true, path })
    const text = readFileSync(path, 'utf8')
    expect(parseConfig(path, text).ok).toBe(true)
    // What it proposes in comments can be read, too.
    const proposed = text.replaceAll(/^# (?=[a-z]+:$| )/gm, '')
    expect(parseConfig(path, proposed)).toMatchObject({
      ok: true,
      value: {
        ebus: { buses: [{ adapter: 'enh:192.168.1.20:9999' }] },
        mesh: { enabled: true },
        models: { endpoints: [{ chat: ['llama3.2'] }] },
        guard: { rules: [{ says: 'forbid' }] },
        notify: [{ format: 'ntfy', names: false }],
      },
    })
    expect(parseConfig(path, proposed.replace('enh:192.168.1.20:9999', 'ebusd:192.168.1.20:8888')).ok).toBe(true)
    expect(writeInitialConfig(path)).toMatchObject({ text: `${path} is there already; it is left as it is.`, exit: 2 })
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  it.runIf(process.platform === 'linux')('reports the error of the operating system, and exits with 2', () => {
    const { text, exit } = writeInitialConfig('/proc/1/hearthbus/hearthbus.yaml')
    expect(text).toMatch(/^\/proc\/1\/hearthbus\/hearthbus\.yaml cannot be written: (?:ENOENT|EACCES|EPERM)/)
    expect(exit).toBe(2)
  })
})
