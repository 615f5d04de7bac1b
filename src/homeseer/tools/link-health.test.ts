import { describe, expect, it } from 'vitest'
import { healthOf } from './link-health.ts'

const facts = { url: 'http://192.0.2.5', push: undefined, devices: 3 }
const last = (outcome: 'ok' | 'unreachable' | 'unauthorised' | 'json-disabled' | 'refused') => ({
  request: 'getstatus',
  attempt: 0,
  durationMs: 1,
  outcome,
})

describe('health of the link', () => {
  it('is ok after an answer, also one that refused', () => {
    expect(healthOf({ ...facts, last: last('ok') })).toMatchObject({
      status: 'ok',
      details: { devices: 3, push: 'off' },
    })
    expect(healthOf({ ...facts, last: last('refused') }).status).toBe('ok')
  })

  it.each([
    [undefined, 'not been asked'],
    [last('unreachable'), 'does not answer'],
    [last('unauthorised'), 'login'],
    [last('json-disabled'), 'JSON'],
  ])('is degraded, and says what to do, after %j', (note, advice) => {
    expect(healthOf({ ...facts, last: note })).toMatchObject({
      status: 'degraded',
      details: { advice: expect.stringContaining(advice) },
    })
  })

  it('mentions a push that is configured and away', () => {
    const push = { up: false, reason: 'refused' } as const
    expect(healthOf({ ...facts, last: last('ok'), push }).details['advice']).toContain('guests')
  })
})
