import { describe, expect, it } from 'vitest'
import { manualClock } from '../../test/manual-clock.ts'
import { SIGN_IN_CODE_LIFETIME_MS, createConsolePrincipal, createConsoleSessions } from './console-sessions.ts'

const BROWSER = 'Firefox'
const IDLE_MS = 12 * 3_600_000
const LIFE_MS = 7 * 86_400_000
const LIMITS = { idleMs: IDLE_MS, lifeMs: LIFE_MS }

function signedIn() {
  const clock = manualClock()
  const sessions = createConsoleSessions(clock, LIMITS)
  const session = sessions.redeem(sessions.issueCode('admin').code, BROWSER)
  if (session === undefined) throw new Error('a fresh code signs in')
  return { clock, sessions, session }
}

describe('console sessions', () => {
  it('accept a sign-in code once', () => {
    const sessions = createConsoleSessions(manualClock(), LIMITS)
    const { code } = sessions.issueCode('approver')
    expect(sessions.redeem(code, BROWSER)?.principal).toEqual(createConsolePrincipal('approver'))
    expect(sessions.redeem(code, BROWSER)).toBeUndefined()
  })

  it('accept a sign-in code for fifteen minutes', () => {
    const clock = manualClock()
    const sessions = createConsoleSessions(clock, LIMITS)
    const { code } = sessions.issueCode('admin')
    clock.advance(SIGN_IN_CODE_LIFETIME_MS)
    expect(sessions.redeem(code, BROWSER)).toBeUndefined()
  })

  it('require both the cookie and the key', () => {
    const { sessions, session } = signedIn()
    const { cookie, key } = session
    expect(sessions.find({ cookie, key })?.principal.id).toBe('console')
    expect(sessions.find({ cookie, key: undefined })).toBeUndefined()
    expect(sessions.find({ cookie, key: 'x'.repeat(43) })).toBeUndefined()
    expect(sessions.find({ cookie: undefined, key })).toBeUndefined()
    expect(sessions.find({ cookie: `${session.id}.${key}`, key })).toBeUndefined()
  })

  it('end after twelve idle hours, and after a week in any case', () => {
    const quiet = signedIn()
    quiet.clock.advance(IDLE_MS)
    expect(quiet.sessions.find(quiet.session)).toBeUndefined()

    const busy = signedIn()
    for (let elapsed = 0; elapsed < LIFE_MS - IDLE_MS; elapsed += IDLE_MS - 1) {
      busy.clock.advance(IDLE_MS - 1)
      expect(busy.sessions.find(busy.session)).toBeDefined()
    }
    busy.clock.advance(IDLE_MS - 1)
    expect(busy.sessions.find(busy.session)).toBeUndefined()
  })

  it('end when the credential behind them is revoked', () => {
    const sessions = createConsoleSessions(manualClock(), LIMITS)
    let revoked = false
    const anna = { kind: 'principal', id: 'anna', role: 'approver' } as const
    const session = sessions.open(anna, BROWSER, () => (revoked ? undefined : anna))
    expect(sessions.find(session)?.principal).toEqual(anna)
    revoked = true
    expect(sessions.find(session)).toBeUndefined()
    expect(sessions.list()).toEqual([])
  })

  it('end when a person ends them', () => {
    const { sessions, session } = signedIn()
    expect(sessions.list().map(({ id }) => id)).toEqual([session.id])
    expect(sessions.end(session.id)).toBe(true)
    expect(sessions.find(session)).toBeUndefined()
  })

  it('are limited to 64: the principal with most sessions loses its longest idle one', () => {
    const { clock, sessions, session } = signedIn()
    const made = Array.from({ length: 64 }, () => {
      clock.advance(1)
      return sessions.redeem(sessions.issueCode('observer').code, BROWSER)?.id
    })
    expect(sessions.list().map(({ id }) => id)).toEqual([session.id, ...made.slice(1)])
    expect(sessions.find(session)?.principal.id).toBe('console')
  })
})
