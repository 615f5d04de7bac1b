import { describe, expect, it } from 'vitest'
import { examineNoticeDestinations, explainUndeliveredNotices, resolveNoticeDestination } from './notice-destination.ts'

const DESTINATION = { url: 'https://ntfy.example/k3x9', format: 'ntfy', names: false } as const

describe('notice destination', () => {
  it('takes its token from the named environment variable, or has none', () => {
    const wanted = { ...DESTINATION, tokenVariable: 'NTFY_TOKEN' }
    expect(resolveNoticeDestination(wanted, { NTFY_TOKEN: 'tk_1' })).toEqual({
      ok: true,
      value: { ...DESTINATION, host: 'ntfy.example', link: undefined, token: 'tk_1' },
    })
    expect(resolveNoticeDestination(DESTINATION, { NTFY_TOKEN: 'tk_1' })).toMatchObject({
      ok: true,
      value: { token: undefined },
    })
  })

  it('is unusable without the token of its environment variable', () => {
    const wanted = { ...DESTINATION, tokenVariable: 'NTFY_TOKEN' }
    const unset = 'the environment variable NTFY_TOKEN, which should hold its token, is not set'
    for (const environment of [{}, { NTFY_TOKEN: '' }])
      expect(resolveNoticeDestination(wanted, environment)).toEqual({
        ok: false,
        fault: { host: 'ntfy.example', trouble: unset },
      })
    expect(resolveNoticeDestination(wanted, { NTFY_TOKEN: 'tk_1\nX-Other: 1' })).toEqual({
      ok: false,
      fault: {
        host: 'ntfy.example',
        trouble: 'the environment variable NTFY_TOKEN holds a value that cannot be a token',
      },
    })
  })

  it('has a link in ASCII, which fits into a header', () => {
    expect(resolveNoticeDestination({ ...DESTINATION, link: 'https://häuschen.example/küche' }, {})).toMatchObject({
      value: { link: 'https://xn--huschen-5wa.example/k%C3%BCche' },
    })
  })

  it('is named by its host in a delivery problem', () => {
    expect(explainUndeliveredNotices([{ host: 'ntfy.example', trouble: 'it answered 403' }])).toBe(
      'Notices about waiting calls do not reach ntfy.example: it answered 403.',
    )
  })
})

describe('doctor check of notice destinations', () => {
  it('names an environment variable that is not set, and sends nothing', () => {
    const wanted = { ...DESTINATION, tokenVariable: 'NTFY_TOKEN' }
    expect(examineNoticeDestinations([DESTINATION, wanted], {})).toEqual([
      {
        about: 'notify',
        level: 'warn',
        sentence:
          'Notices about waiting calls do not reach ntfy.example: the environment variable NTFY_TOKEN, which should hold its token, is not set.',
      },
    ])
    expect(examineNoticeDestinations([wanted], { NTFY_TOKEN: 'tk_1' })).toEqual([
      { about: 'notify', level: 'ok', sentence: '1 place, not tried; hearthbus notify tries.' },
    ])
    expect(examineNoticeDestinations([], {})).toEqual([])
  })
})
