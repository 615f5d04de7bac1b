/**
 * Texts of devices are those of firmware 2.4.2 as captured (runs ws-without-backend, mqtt-udp-nobody); what ends listening
 * is what ended it there.
 */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.ts'
import { stepSession } from './session-machine.ts'
import type { SessionEffect, SessionInput, DeviceSession, DeviceTransport } from './session.ts'
import { DEFAULT_SESSION_SETTINGS, newDeviceSession } from './session.ts'
import { nextSessionDeadline } from './deadlines.ts'

const WS_HELLO =
  '{"type":"hello","version":1,"features":{"mcp":true,"glyph_push":false},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}'
const UDP_HELLO =
  '{"type":"hello","version":3,"transport":"udp","features":{"mcp":true,"glyph_push":false},"audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}'

type Untimed = SessionInput extends infer Each ? (Each extends SessionInput ? Omit<Each, 'atMs'> : never) : never

class Play {
  session: DeviceSession = newDeviceSession('02:00:5e:00:53:08', DEFAULT_SESSION_SETTINGS)
  atMs = 0

  input(input: Untimed): readonly JsonObject[] {
    const next = stepSession(this.session, { ...input, atMs: this.atMs })
    this.session = next.session
    return next.effects.flatMap(shown)
  }

  greet(transport: DeviceTransport): this {
    this.input({ kind: 'connected', transport, seed: 's', vision: undefined, udp: { server: '10.0.0.1', port: 7_424 } })
    this.input({ kind: 'text', text: transport === 'websocket' ? WS_HELLO : UDP_HELLO })
    return this
  }

  listen(mode: string): readonly JsonObject[] {
    const { sessionId } = this.session
    this.input({
      kind: 'text',
      text: `{"session_id":"${sessionId}","type":"listen","state":"detect","text":"你好小智"}`,
    })
    return this.input({
      kind: 'text',
      text: `{"session_id":"${sessionId}","type":"listen","state":"start","mode":"${mode}"}`,
    })
  }

  /** To the next moment at which the session wants to act. */
  wait(): readonly JsonObject[] {
    this.atMs = nextSessionDeadline(this.session) ?? this.atMs
    return this.input({ kind: 'tick' })
  }
}

/** What the device is told, without our own requests, and whether it is hung up on. */
function shown(effect: SessionEffect): readonly JsonObject[] {
  if (effect.kind === 'close') return [{ close: effect.reason }]
  if (effect.kind !== 'send') return []
  const frame = JSON.parse(effect.text) as JsonObject
  return frame['type'] === 'mcp' ? [] : [frame]
}

describe('a microphone that was opened without a backend', () => {
  it('is ended over MQTT by a goodbye with the session id, then an alert', () => {
    const play = new Play().greet('mqtt')
    const { sessionId } = play.session
    expect(play.listen('auto')).toEqual([{ session_id: sessionId, type: 'goodbye' }])
    expect(play.wait()).toEqual([expect.objectContaining({ type: 'alert', session_id: sessionId })])
    expect(play.atMs).toBeLessThan(5_000)
  })

  it.each(['auto', 'realtime'])('gets another MQTT goodbye while audio in mode %s continues', (mode) => {
    const play = new Play().greet('mqtt')
    play.listen(mode)
    play.atMs = 1_000
    expect(play.input({ kind: 'audio' })).toEqual([])
    play.atMs = 2_000
    expect(play.input({ kind: 'audio' })).toEqual([{ session_id: play.session.sessionId, type: 'goodbye' }])
  })

  it('is closed over WebSocket by a tts start without a stop, and the device stays callable', () => {
    const play = new Play().greet('websocket')
    const { sessionId } = play.session
    expect(play.listen('auto')).toEqual([
      { session_id: sessionId, type: 'tts', state: 'start' },
      expect.objectContaining({ type: 'alert', emotion: 'neutral' }),
    ])
    expect(play.session.link?.closing).toBe(false)
  })

  it('is closed again when a wake word opens it again', () => {
    const play = new Play().greet('websocket')
    play.listen('auto')
    play.atMs = 10_000
    const { sessionId } = play.session
    expect(
      play.input({ kind: 'text', text: `{"session_id":"${sessionId}","type":"abort","reason":"wake_word_detected"}` }),
    ).toEqual([])
    expect(play.listen('auto')[0]).toEqual({ session_id: sessionId, type: 'tts', state: 'start' })
  })

  it('in manual mode is closed by tts start and stop at once', () => {
    const play = new Play().greet('websocket')
    expect(play.listen('manual').slice(0, 2)).toMatchObject([
      { type: 'tts', state: 'start' },
      { type: 'tts', state: 'stop' },
    ])
  })

  it('in realtime mode is closed by ending the connection within five seconds', () => {
    const play = new Play().greet('websocket')
    expect(play.listen('realtime')).toMatchObject([{ type: 'alert' }])
    expect(play.wait()).toEqual([{ close: 'nobody listens' }])
    expect(play.atMs).toBeLessThan(5_000)
  })

  it.each(['sideways', 'auto'])(
    'is closed by ending the connection when the device keeps sending audio in mode %s',
    (mode) => {
      const play = new Play().greet('websocket')
      play.listen(mode)
      play.atMs = 2_500
      const closed = [...play.input({ kind: 'audio' }), ...play.input({ kind: 'tick' })]
      expect(closed).toContainEqual({ close: expect.any(String) })
    },
  )

  it('is closed by ending the connection when audio comes without a listen message', () => {
    const play = new Play().greet('websocket')
    expect(play.input({ kind: 'audio' })).toEqual([])
    play.atMs = 2_000
    expect(play.input({ kind: 'audio' })).toEqual([{ close: 'its microphone stays open' }])
  })

  it('is released when the button is pressed, and the connection ends unless a call is under way', () => {
    const play = new Play().greet('websocket')
    const { sessionId } = play.session
    play.listen('auto')
    const press = `{"session_id":"${sessionId}","type":"abort"}`
    // Our own initialize is under way: it is not cut off.
    expect(play.input({ kind: 'text', text: press })).toEqual([{ session_id: sessionId, type: 'tts', state: 'stop' }])
    play.session = { ...play.session, flight: undefined, phase: 'ready' }
    expect(play.input({ kind: 'text', text: press })).toEqual([{ close: 'a person ended it' }])
  })
})
