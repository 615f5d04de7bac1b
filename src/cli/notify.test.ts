import { describe, expect, it } from 'vitest'
import { formatNotifyAttempts, gatherNotifyFacts } from './notify.ts'

const DESTINATION = { url: 'https://ntfy.example/k3x9', format: 'ntfy', names: false } as const

describe('a trial', () => {
  it('says what happened at each place, and fails where one failed', () => {
    const answer = formatNotifyAttempts([
      { host: 'ntfy.example', format: 'ntfy', trouble: undefined },
      { host: 'hooks.example:8443', format: 'json', trouble: 'it answered 403' },
    ])
    expect(answer.text).toBe(
      [
        'place               format  trial',
        'ntfy.example        ntfy    taken',
        'hooks.example:8443  json    failed: it answered 403',
      ].join('\n'),
    )
    expect(answer.json).toEqual([
      { host: 'ntfy.example', format: 'ntfy', ok: true },
      { host: 'hooks.example:8443', format: 'json', ok: false, trouble: 'it answered 403' },
    ])
    expect(answer.exit).toBe(1)
    expect(formatNotifyAttempts([{ host: 'ntfy.example', format: 'ntfy', trouble: undefined }]).exit).toBe(0)
  })

  it('is no success where nobody is to be told', () => {
    expect(formatNotifyAttempts([])).toMatchObject({ json: [], exit: 2 })
  })
})

describe('the doctor, of places where people are told', () => {
  it('names a variable that is not set, and sends nothing', () => {
    const wanted = { ...DESTINATION, tokenVariable: 'NTFY_TOKEN' }
    expect(gatherNotifyFacts([DESTINATION, wanted], {})).toEqual([
      {
        name: 'notify',
        status: 'degraded',
        advice:
          'People are not told at ntfy.example that calls wait for them: the environment variable NTFY_TOKEN, which should hold its token, is not set.',
      },
    ])
    expect(gatherNotifyFacts([wanted], { NTFY_TOKEN: 'tk_1' })).toEqual([
      { name: 'notify', status: 'ok', advice: '1 place, not tried; hearthbus notify tries.' },
    ])
    expect(gatherNotifyFacts([], {})).toEqual([])
  })
})
