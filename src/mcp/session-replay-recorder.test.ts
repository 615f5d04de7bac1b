import { describe, expect, it } from 'vitest'
import { createSessionReplayRecorder, isBridgeRequestId } from './session-replay-recorder.ts'

describe('session replay recorder', () => {
  it('replays initialisation, log level and current subscriptions, in order and under its own ids', () => {
    const session = createSessionReplayRecorder()
    expect(session.again()).toEqual([])
    const greeting = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } } as const
    session.record(greeting)
    session.record({ jsonrpc: '2.0', method: 'notifications/initialized' })
    session.record({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'x' } })
    session.record({ jsonrpc: '2.0', id: 3, method: 'resources/subscribe', params: { uri: 'a:1' } })
    session.record({ jsonrpc: '2.0', id: 4, method: 'resources/subscribe', params: { uri: 'a:2' } })
    session.record({ jsonrpc: '2.0', id: 5, method: 'resources/unsubscribe', params: { uri: 'a:1' } })
    session.record({ jsonrpc: '2.0', id: 6, method: 'logging/setLevel', params: { level: 'info' } })
    session.record({ jsonrpc: '2.0', id: 7, result: {} })
    const again = session.again()
    expect(again).toMatchObject([
      { method: 'initialize', params: { protocolVersion: '2025-11-25' } },
      { method: 'notifications/initialized' },
      { method: 'logging/setLevel' },
      { method: 'resources/subscribe', params: { uri: 'a:2' } },
    ])
    expect(again.map((message) => ('id' in message ? isBridgeRequestId(message.id) : 'none'))).toEqual([
      true,
      'none',
      true,
      true,
    ])
    expect(isBridgeRequestId(1)).toBe(false)
  })
})
