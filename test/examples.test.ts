import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'hearthbus-example-'))
afterAll(() => rmSync(folder, { recursive: true }))

const root = fileURLToPath(new URL('..', import.meta.url))

describe('examples', () => {
  it('own-gateway waters the garden, records it, and prints commands that work', async () => {
    const child = spawn(process.execPath, ['examples/own-gateway.ts', folder], { cwd: root })
    const said: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8')
    child.stderr.on('data', (text: string) => said.push(`stderr: ${text}`))
    for await (const text of child.stdout as AsyncIterable<string>) {
      said.push(text)
      if (said.join('').includes('Ctrl-C')) break
    }
    const lines = said.join('').split('\n')
    expect(lines.slice(0, 2)).toEqual(['{"open":true}', '5 entries in the ledger'])
    const commands = lines.filter((line) => line.startsWith('  bin/hearthbus '))
    const tried = commands.map((command) => spawnSync('/bin/sh', ['-c', command], { cwd: root, encoding: 'utf8' }))
    expect(tried.map(({ status, stderr }) => [status, stderr])).toEqual([
      [0, ''],
      [0, ''],
      [0, ''],
      [0, ''],
      [0, ''],
    ])
    expect(tried.map(({ stdout }) => stdout)).toEqual([
      expect.stringContaining('open'),
      expect.stringContaining('false'),
      expect.stringContaining('3'),
      expect.stringContaining('3'),
      expect.stringContaining('garden.tap.set'),
    ])
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
