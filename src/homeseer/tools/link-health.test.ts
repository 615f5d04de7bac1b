import { describe, expect, it } from 'vitest'
import type { RequestAttemptNote } from '../wire/json-client.ts'
import { createHomeseerLinkHealthTracker, toHomeseerServiceHealth } from './link-health.ts'

const facts = { url: 'http://192.0.2.5', push: undefined, devices: 3 }
const last = (outcome: 'ok' | 'unreachable' | 'unauthorised' | 'json-disabled' | 'refused') => ({
  request: 'getstatus',
  attempt: 0,
  durationMs: 1,
  outcome,
})

describe('health of the HomeSeer connection', () => {
  it('is ok after any answer, including a refusal', () => {
    expect(toHomeseerServiceHealth({ ...facts, last: last('ok') })).toMatchObject({
      status: 'ok',
      details: { devices: 3, push: 'off' },
    })
    expect(toHomeseerServiceHealth({ ...facts, last: last('refused') }).status).toBe('ok')
  })

  it.each([
    [undefined, 'not been asked'],
    [last('unreachable'), 'does not answer'],
    [{ ...last('unreachable'), code: 'ENOTFOUND' }, 'is not known in this network'],
    [{ ...last('unreachable'), code: 'ECONNREFUSED' }, 'Nothing listens'],
    [{ ...last('unreachable'), code: 'ENETUNREACH' }, 'no route'],
    [{ ...last('unreachable'), code: 'EPROTO' }, 'http://'],
    [last('unauthorised'), 'login'],
    [last('json-disabled'), 'JSON'],
  ])('is degraded with advice after %j', (note, advice) => {
    expect(toHomeseerServiceHealth({ ...facts, last: note })).toMatchObject({
      status: 'degraded',
      details: { advice: expect.stringContaining(advice) },
    })
  })

  it('reports HomeSeer as away only after a failure that proves it', () => {
    const away = (note: RequestAttemptNote | undefined): unknown =>
      toHomeseerServiceHealth({ ...facts, last: note }).details['away']
    expect([undefined, last('ok'), last('refused')].map(away)).toEqual([undefined, undefined, undefined])
    expect([last('unreachable'), last('unauthorised')].map(away)).toEqual([true, true])
    const missing = { attempt: 0, durationMs: 1, outcome: 'http-status' } as const
    expect(away({ ...missing, request: 'getplugins' })).toBeUndefined()
    expect(away({ ...missing, request: 'getstatus' })).toBe(true)
  })

  it('mentions a configured push connection that is down', () => {
    const push = { up: false, reason: 'refused' } as const
    expect(toHomeseerServiceHealth({ ...facts, last: last('ok'), push }).details['advice']).toContain('guests')
  })
})

describe('notices about the HomeSeer connection', () => {
  const linkHealth = (
    ...attempts: readonly (readonly [request: string, outcome: RequestAttemptNote['outcome']])[]
  ): string[] => {
    const news: string[] = []
    const health = createHomeseerLinkHealthTracker({
      away: ({ outcome }) => news.push(outcome),
      back: () => news.push('back'),
    })
    for (const [request, outcome] of attempts) health.note({ request, attempt: 0, durationMs: 1, outcome })
    return news
  }
  const record = (...outcomes: readonly RequestAttemptNote['outcome'][]) =>
    linkHealth(...outcomes.map((each) => ['getstatus', each] as const))

  it('are given once when HomeSeer is unreachable at start, and once when it is back', () => {
    expect(record('unreachable', 'unreachable', 'timed-out', 'ok', 'ok')).toEqual(['unreachable', 'back'])
    expect(record('ok', 'refused', 'ok')).toEqual([])
  })

  it('are not given for a single failure of a working connection', () => {
    expect(record('ok', 'timed-out', 'ok')).toEqual([])
    expect(record('ok', 'timed-out', 'timed-out', 'timed-out', 'ok')).toEqual(['timed-out', 'back'])
  })

  it('are not given for a camera that is slow to make its picture', () => {
    const picture = ['getcamerasnapshot', 'timed-out'] as const
    expect(linkHealth(['getstatus', 'ok'], picture, picture, picture)).toEqual([])
  })
})
