import { describe, expect, it } from 'vitest'
import { readServerMessage } from './server-message.ts'

const UDP = { server: 'h', port: 1, key: '0'.repeat(32), nonce: '0'.repeat(32) }
const read = (message: unknown, transport: 'websocket' | 'udp' = 'websocket') =>
  readServerMessage(JSON.stringify(message), transport)

describe('a server message read by a simulated device', () => {
  it('is a hello only with the expected transport', () => {
    expect(read({ type: 'hello', transport: 'websocket', session_id: 'S' })).toEqual({
      kind: 'hello',
      sessionId: 'S',
      udp: undefined,
    })
    expect(read({ type: 'hello', session_id: 'S' })).toEqual({ kind: 'ignored' })
    expect(read({ type: 'hello', transport: 'udp', udp: UDP })).toEqual({ kind: 'ignored' })
  })

  it('is a hello over MQTT only with a valid UDP section', () => {
    expect(read({ type: 'hello', transport: 'udp', udp: UDP }, 'udp')).toMatchObject({ kind: 'hello' })
    for (const wrong of [{ port: 0 }, { port: 70_000 }, { key: 'ab' }, { nonce: 'x'.repeat(32) }, { server: 7 }])
      expect(read({ type: 'hello', transport: 'udp', udp: { ...UDP, ...wrong } }, 'udp')).toEqual({ kind: 'ignored' })
  })

  it('is an alert only with all three texts', () => {
    expect(read({ type: 'alert', status: 'a', message: 'b', emotion: 'c' })).toMatchObject({ text: 'a / b / c' })
    expect(read({ type: 'alert', status: 'a', message: 'b' })).toEqual({ kind: 'ignored' })
  })

  it('is read regardless of the case of its keys', () => {
    expect(read({ TYPE: 'mcp', Payload: { a: 1 } })).toEqual({ kind: 'mcp', payload: { a: 1 } })
  })

  it('is ignored if it is of an unknown kind', () => {
    for (const text of ['', '[]', '7', '{"type":"tts"}', '{"type":7}', '{"type":"system","command":"x"}'])
      expect(readServerMessage(text, 'websocket')).toEqual({ kind: 'ignored' })
  })
})
