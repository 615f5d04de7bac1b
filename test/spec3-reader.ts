/**
 * Spec 3 reader: reads a device's transcript aloud, one message at a time, and compares each with the message that spec
 * 3 puts in its place: who speaks, the members of the envelope in their order, and the whole payload.
 *
 * Where the firmware is known to differ from the spec's example (docs/protocols/devices.md), the firmware's form
 * stands.
 */
/* oxlint-disable vitest/no-standalone-expect -- every expectation here is made by the test that reads aloud */
import { expect } from 'vitest'
import type { JsonObject } from '../src/core/json.ts'
import type { DeviceMessageTranscriptLine } from '../src/sim/devices/simulated-device.ts'

const ENVELOPE = ['session_id', 'type', 'payload']

export interface Hello {
  readonly version: number
  readonly transport: 'websocket' | 'udp'
}

export class Spec3Reader {
  readonly #lines: readonly DeviceMessageTranscriptLine[]
  #at = 0
  #lastId = 0
  #sessionId = ''

  constructor(lines: readonly DeviceMessageTranscriptLine[]) {
    this.#lines = lines
  }

  /** "Connection and capability announcement": the hello of each side. Every later message carries its session id. */
  hello({ version, transport }: Hello): void {
    expect(this.#next('device')).toMatchObject({
      type: 'hello',
      version,
      features: { mcp: true },
      transport,
      audio_params: { format: 'opus', sample_rate: 16_000, channels: 1 },
    })
    const answer = this.#next('backend')
    expect(answer).toMatchObject({ type: 'hello', transport, session_id: expect.stringMatching(/^[\da-f]{32}$/) })
    this.#sessionId = answer['session_id'] as string
  }

  /** "Initialize the MCP session". */
  initialize(capabilities: JsonObject, serverInfo: JsonObject): void {
    const result = { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo }
    expect(this.#exchange('initialize', { capabilities })).toEqual({ result })
  }

  /** "Discover the tools", page after page, each cursor being the one that the device gave. Returns their names. */
  list(): readonly string[] {
    const names: string[] = []
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const { result }: JsonObject = this.#exchange('tools/list', { cursor, withUserTools: false })
      const { tools, nextCursor, ...rest } = result as { tools: { name: string }[]; nextCursor?: string }
      expect(rest).toEqual({})
      for (const tool of tools) {
        expect(Object.keys(tool)).toEqual(['name', 'description', 'inputSchema'])
        names.push(tool.name)
      }
      cursor = nextCursor
    }
    return names
  }

  /** "Call a tool": the successful response, or the one that this firmware has instead. */
  call(name: string, args: JsonObject, answer: JsonObject): void {
    expect(this.#exchange('tools/call', { name, arguments: args })).toEqual(answer)
  }

  /** "Device-initiated notifications": no id, and nothing in reply. */
  notification(method: string, params: JsonObject): void {
    expect(this.#payload('device')).toEqual({ jsonrpc: '2.0', method, params })
  }

  /** Nothing was said beyond what was read. */
  end(): void {
    expect(this.#lines.slice(this.#at)).toEqual([])
  }

  get sessionId(): string {
    return this.#sessionId
  }

  /** One request and the answer to it, which comes next and echoes its id. Ids only grow. */
  #exchange(method: string, params: JsonObject): JsonObject {
    const { id, ...asked } = this.#payload('backend')
    expect(asked).toEqual({ jsonrpc: '2.0', method, params })
    expect(id).toBeGreaterThan(this.#lastId)
    this.#lastId = Number(id)
    const { jsonrpc, id: echoed, ...answer } = this.#payload('device')
    expect([jsonrpc, echoed]).toEqual(['2.0', id])
    return answer
  }

  #payload(from: DeviceMessageTranscriptLine['from']): JsonObject {
    const message = this.#next(from)
    expect(Object.keys(message)).toEqual(ENVELOPE)
    expect(message).toMatchObject({ session_id: this.#sessionId, type: 'mcp' })
    return message['payload'] as JsonObject
  }

  #next(from: DeviceMessageTranscriptLine['from']): JsonObject {
    const line = this.#lines[this.#at++]
    expect(line?.from, `message ${this.#at}: ${line?.text}`).toBe(from)
    return JSON.parse(line?.text ?? '{}') as JsonObject
  }
}
