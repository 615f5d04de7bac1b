import { describe, expect, it } from 'vitest'
import { decodeRpc, createRpcRequest } from './rpc.ts'

const error = (value: unknown) => decodeRpc({ jsonrpc: '2.0', id: 3, error: value as never })

describe('device JSON-RPC', () => {
  it('throws on a request id outside of 1 to 2^31 − 1', () => {
    for (const id of [0, -1, 1.5, 2_147_483_648])
      expect(() => createRpcRequest({ id, method: 'ping', params: {} })).toThrow(RangeError)
    expect(createRpcRequest({ id: 2_147_483_647, method: 'ping', params: {} })).toMatchObject({ id: 2_147_483_647 })
  })

  it('reads an error with a code and without one', () => {
    expect(error({ code: -32_601, message: 'Unknown tool: x' })).toMatchObject({
      value: { kind: 'error', id: 3, error: { code: -32_601, message: 'Unknown tool: x' } },
    })
    expect(error({ message: 'Unknown tool: x' })).toMatchObject({
      value: { error: { code: undefined, message: 'Unknown tool: x' } },
    })
  })

  it('always gives an error a message, of at most 4,096 characters', () => {
    for (const value of [{}, { message: '' }, { message: 7 }, 7, []])
      expect(error(value)).toMatchObject({ value: { error: { message: 'the device gave no reason' } } })
    expect(error('plain')).toMatchObject({ value: { error: { message: 'plain' } } })
    expect(error({ message: 'x'.repeat(9_000) })).toMatchObject({ value: { error: { message: 'x'.repeat(4_096) } } })
  })

  it('distinguishes a notification from a request', () => {
    expect(decodeRpc({ jsonrpc: '2.0', method: 'stackchan/event', params: { a: 1 } })).toEqual({
      ok: true,
      value: { kind: 'notification', method: 'stackchan/event', params: { a: 1 } },
    })
    expect(decodeRpc({ jsonrpc: '2.0', method: 'ping', id: 'x' })).toEqual({
      ok: true,
      value: { kind: 'request', id: 'x', method: 'ping' },
    })
  })

  it('reads an answer with a null error as a result', () => {
    expect(decodeRpc({ jsonrpc: '2.0', id: 3, result: {}, error: null })).toMatchObject({ value: { kind: 'result' } })
  })
})
