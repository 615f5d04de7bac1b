import { describe, expect, it } from 'vitest'
import { INITIAL_ASCII_SESSION, stepAsciiSession, type AsciiSessionInput } from './ascii.ts'

const credentials = { user: 'default', password: 'secret' }

function play(...inputs: readonly AsciiSessionInput[]) {
  let session = INITIAL_ASCII_SESSION
  return inputs.map((input) => {
    const next = stepAsciiSession(session, input)
    session = next.session
    return { phase: session.phase, effects: next.effects }
  })
}

const lines = (...received: readonly string[]): AsciiSessionInput => ({ kind: 'lines', lines: received })

describe('ASCII session', () => {
  it('logs in, then reports changes', () => {
    expect(play({ kind: 'connected', credentials }, lines('ok'), lines('DC,412,99,35', 'DC,413,0,1'))).toEqual([
      { phase: 'logging-in', effects: [{ kind: 'send', text: 'au,default,secret\r\n' }] },
      { phase: 'live', effects: [{ kind: 'live' }] },
      {
        phase: 'live',
        effects: [
          {
            kind: 'changed',
            changes: [
              { kind: 'change', ref: 412, value: 99, previous: 35 },
              { kind: 'change', ref: 413, value: 0, previous: 1 },
            ],
          },
        ],
      },
    ])
  })

  it('stays logging in on a banner or a change before the login is answered', () => {
    const [, banner, change, refused] = play(
      { kind: 'connected', credentials },
      lines('Welcome'),
      lines('DC,1,2,3'),
      lines('error, wrong password'),
    )
    expect(banner).toEqual({ phase: 'logging-in', effects: [] })
    expect(change).toMatchObject({ phase: 'logging-in', effects: [{ kind: 'changed' }] })
    expect(refused).toEqual({ phase: 'over', effects: [{ kind: 'hang-up', reason: 'refused' }] })
  })

  it('without credentials asks for the version, and is live on any answer', () => {
    const [greeting, live] = play({ kind: 'connected', credentials: undefined }, lines('error'))
    expect(greeting).toEqual({ phase: 'greeting', effects: [{ kind: 'send', text: 'vr\r\n' }] })
    expect(live).toEqual({ phase: 'live', effects: [{ kind: 'live' }] })
  })

  it('pings after a silence, and closes after a second one', () => {
    const [, , ping, back, again, over, deaf] = play(
      { kind: 'connected', credentials },
      lines('ok'),
      { kind: 'silence' },
      lines('4.2.22.4'),
      { kind: 'silence' },
      { kind: 'silence' },
      lines('DC,1,2,3'),
    )
    expect(ping).toEqual({ phase: 'pinging', effects: [{ kind: 'send', text: 'vr\r\n' }] })
    expect(back).toEqual({ phase: 'live', effects: [] })
    expect(again?.phase).toBe('pinging')
    expect(over).toEqual({ phase: 'over', effects: [{ kind: 'hang-up', reason: 'silent' }] })
    expect(deaf).toEqual({ phase: 'over', effects: [] })
  })
})
