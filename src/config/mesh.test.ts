import { describe, expect, it } from 'vitest'
import { formatConfigProblem, parseConfig } from './config-file.ts'

function problems(...lines: readonly string[]): readonly string[] {
  const read = parseConfig('hearthbus.yaml', ['mesh:', ...lines.map((line) => `  ${line}`), ''].join('\n'))
  return read.ok ? [] : read.fault.map(formatConfigProblem)
}

describe('mesh.signatures', () => {
  it('may be none without a broker', () => {
    expect(problems('signatures: none')).toEqual([])
  })

  it('may be none over a NATS server with TLS or on this machine, if nodes log in by key', () => {
    for (const server of ['tls://nats.example:4222', 'nats://127.0.0.1:4222', 'localhost', 'nats://[::1]:4222'])
      expect(problems('signatures: none', `nats: { nkey: true, servers: ["${server}"] }`)).toEqual([])
  })

  it('is refused as none over any other NATS server', () => {
    const refusal = expect.stringContaining('mesh.signatures: `none` over NATS needs mesh.nats.nkey')
    for (const nats of [
      '{ servers: ["tls://nats.example:4222"] }',
      '{ nkey: true, servers: ["nats://192.168.1.5:4222"] }',
      '{ nkey: true, servers: ["tls://a.example", "nats://b.example"] }',
      '{ nkey: true, servers: ["nats://127.0.0.1.evil.example:4222"] }',
    ])
      expect(problems('signatures: none', `nats: ${nats}`)).toEqual([refusal])
  })
})
