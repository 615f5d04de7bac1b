/** What a backend can and cannot say to a device through the relay. Firmware reads keys as cJSON does: any case, first of two. */
import { describe, expect, it } from 'vitest'
import type { VoiceRelayState, VoiceRelayEffect } from './voice-relay.ts'
import { IDLE_VOICE_RELAY_STATE, stepVoiceRelay } from './voice-relay.ts'

const HELLO = '{"type":"hello","version":1,"transport":"websocket"}'
const LISTEN = '{"session_id":"S","type":"listen","state":"start","mode":"auto"}'

class Play {
  relay: VoiceRelayState = IDLE_VOICE_RELAY_STATE
  atMs = 0

  input(input: Omit<Parameters<typeof stepVoiceRelay>[1], 'atMs'>): readonly VoiceRelayEffect[] {
    const next = stepVoiceRelay(this.relay, { ...input, atMs: this.atMs } as Parameters<typeof stepVoiceRelay>[1])
    this.relay = next.relay
    return next.effects
  }

  backend(text: string): readonly VoiceRelayEffect[] {
    return this.input({ kind: 'backend-text', text } as never)
  }

  device(text: string): readonly VoiceRelayEffect[] {
    return this.input({ kind: 'device-text', text } as never)
  }

  open(): this {
    this.input({ kind: 'device-hello', text: HELLO } as never)
    this.backend('{"type":"hello","transport":"websocket","session_id":"S"}')
    return this
  }
}

describe('voice relay', () => {
  it('forwards messages unchanged in both directions', () => {
    const play = new Play().open()
    const stt = '{ "type":"stt",  "text":"turn on the lamp" }'
    expect(play.backend(stt)).toEqual([{ kind: 'device', input: { kind: 'text', text: stt } }])
    expect(play.device(LISTEN)).toEqual([{ kind: 'send', text: LISTEN }])
  })

  it.each([
    '{"TYPE":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"self.reboot"}}}',
    '{"type":"mcp","type":"stt","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call"}}',
    '{"type":"stt","Type":"mcp","payload":{}}',
    '{"type":"system","command":"reboot"}',
    'not JSON',
    '[]',
    '{"text":"no type"}',
  ])('drops backend messages with a missing, repeated or unknown type: %s', (text) => {
    expect(new Play().open().backend(text)).toEqual([])
  })

  it('passes MCP from the backend to the guard, never to the device', () => {
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'self.reboot' } }
    expect(new Play().open().backend(JSON.stringify({ type: 'mcp', payload }))).toEqual([{ kind: 'mcp', payload }])
  })

  it('answers the hello itself after 8 s without a backend, and ends listening with a single alert', () => {
    const play = new Play()
    play.input({ kind: 'device-hello', text: HELLO } as never)
    play.atMs = 8_000
    const away = play.input({ kind: 'tick' } as never)
    expect(away).toContainEqual({ kind: 'device', input: { kind: 'away' } })
    expect(away).toContainEqual({ kind: 'presence', isThere: false })
    const unansweredEffects = (isAlerted: boolean) => [
      { kind: 'device', input: { kind: 'unheard', mode: 'auto', isAlerted } },
    ]
    expect(play.device(LISTEN)).toEqual(unansweredEffects(false))
    expect(play.device(LISTEN)).toEqual(unansweredEffects(true))
  })

  it('reconnects to a lost backend on a wake word, gives up within 5 s, and translates session ids', () => {
    const play = new Play().open()
    play.input({ kind: 'backend-closed', isClean: false } as never)
    play.atMs = 10_000
    expect(play.device(LISTEN)).toEqual([{ kind: 'dial', hello: HELLO }])
    expect(play.relay.deadlineMs).toBeLessThan(15_000)
    expect(play.backend('{"type":"hello","transport":"websocket","session_id":"T"}')).toEqual([
      { kind: 'device', input: { kind: 'resumed' } },
      { kind: 'send', text: LISTEN.replace('"S"', '"T"') },
      { kind: 'presence', isThere: true },
    ])
    expect(play.backend('{"session_id":"T","type":"tts","state":"start"}')).toEqual([
      { kind: 'device', input: { kind: 'text', text: '{"session_id":"S","type":"tts","state":"start"}' } },
    ])
  })

  it('closes when the device disconnects, and ends the conversation when the backend ends it', () => {
    expect(new Play().open().input({ kind: 'device-gone' } as never)).toEqual([{ kind: 'close' }])
    const ended = [{ kind: 'device', input: { kind: 'ended' } }]
    expect(new Play().open().input({ kind: 'backend-closed', isClean: true } as never)).toEqual(ended)
    expect(new Play().open().backend('{"type":"goodbye","session_id":"S"}')).toEqual(ended)
    expect(new Play().open().backend('{"type":"goodbye"}')).toEqual(ended)
    // As firmware over MQTT did in the run mqtt-udp-nobody: another conversation's goodbye has no effect.
    expect(new Play().open().backend('{"type":"goodbye","session_id":"other"}')).toEqual([])
  })
})
