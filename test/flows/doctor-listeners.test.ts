/** What doctor says before a start is what the start then does, for every listener. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLI, createHome } from '../gateway-process.ts'
import type { Home } from '../gateway-process.ts'
import { listenLocally } from '../local-port.ts'

let home: Home
beforeAll(() => {
  home = createHome()
})
afterAll(() => home.remove())

function run(yaml: string, command: 'doctor' | 'up'): string {
  writeFileSync(home.config, yaml)
  const { stdout, stderr } = spawnSync(process.execPath, [CLI, '--data', home.data, '--config', home.config, command], {
    encoding: 'utf8',
    timeout: 120_000,
  })
  expect(`${stdout}${stderr}`).not.toMatch(/\n\s+at .*\.ts:\d+/)
  return `${stdout}${stderr}`
}

describe('a listener that cannot be opened', () => {
  it.each([
    ['listen: { host: nowhere.invalid, port: 0 }', 'listen.host is nowhere.invalid, a name that does not resolve'],
    ['listen: { host: 203.0.113.7, port: 0 }', 'listen.host is 203.0.113.7, which is no address of this machine'],
    [
      'listen: { port: 0 }\nmesh: { enabled: true, host: 203.0.113.7, port: 0 }',
      'mesh.host is 203.0.113.7, which is no address of this machine',
    ],
    [
      'listen: { port: 0 }\ndevices: { enabled: true, host: 203.0.113.7, port: 0 }',
      'devices.host is 203.0.113.7, which is no address of this machine',
    ],
  ])('is named by doctor: %s', (yaml, sentence) => {
    expect(run(yaml, 'doctor')).toContain(sentence)
  })

  it('is named by doctor and by the start alike when another program has its port', async () => {
    const other = createServer()
    const port = await listenLocally(other)
    const yaml = `listen: { host: 127.0.0.1, port: ${port} }`
    const sentence = `Port ${port} belongs to another program. Stop that, or set listen.port.`
    expect(run(yaml, 'doctor')).toContain(`✗ listener: ${sentence}`)
    expect(run(yaml, 'up')).toContain(sentence)
    const devices = `listen: { port: 0 }\ndevices: { enabled: true, host: 127.0.0.1, port: ${port} }`
    expect(run(devices, 'doctor')).toContain(`Port ${port} belongs to another program. Stop that, or set devices.port.`)
    await new Promise((resolve) => other.close(resolve))
  })
})
