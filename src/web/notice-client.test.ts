import { describe, expect, it } from 'vitest'
import { freePort } from '../../test/local-port.ts'
import { openInbox } from '../../test/notice-inbox.ts'
import { postNotice } from './notice-client.ts'
import { createTestNotice } from './notice.ts'
import type { NoticeDestination } from './notice-destination.ts'

const NOTICE = createTestNotice('home')

function place(url: string, more: Partial<NoticeDestination> = {}): NoticeDestination {
  const { host } = new URL(url)
  return { url, host, format: 'json', names: false, token: undefined, link: undefined, ...more }
}

describe('posting a notice', () => {
  it('sends a JSON object to a web hook', async () => {
    await using inbox = await openInbox()
    const link = 'http://home.example/'
    expect(await postNotice(NOTICE, place(`${inbox.url}/k3x9`, { token: 'tk_1', link }))).toBeUndefined()
    expect(inbox.letters).toMatchObject([
      { request: 'POST /k3x9', headers: { 'content-type': 'application/json', authorization: 'Bearer tk_1' } },
    ])
    expect(JSON.parse(inbox.letters[0]?.body ?? '')).toEqual({
      title: 'home: a test',
      message: 'This is a test: nothing waits. You will be notified here when a call does.',
      link,
      event: 'trial',
      node: 'home',
      count: 0,
      waiting: [],
    })
  })

  it('sends a text with headers to ntfy', async () => {
    await using inbox = await openInbox()
    expect(await postNotice(NOTICE, place(inbox.url, { format: 'ntfy', link: 'http://home.example/' }))).toBeUndefined()
    const [letter] = inbox.letters
    expect(letter?.body).toBe('This is a test: nothing waits. You will be notified here when a call does.')
    expect(letter?.headers).toMatchObject({
      title: 'home: a test',
      priority: 'high',
      tags: 'raised_hand',
      click: 'http://home.example/',
      'content-type': 'text/plain; charset=utf-8',
    })
    expect(letter?.headers).not.toHaveProperty('authorization')
  })

  it('reports the status when the destination does not accept it', async () => {
    await using inbox = await openInbox()
    inbox.answer(403)
    expect(await postNotice(NOTICE, place(inbox.url))).toBe('it answered 403')
  })

  it('follows no redirect', async () => {
    await using elsewhere = await openInbox()
    await using inbox = await openInbox()
    for (const status of [301, 307]) {
      inbox.answer(status, { location: elsewhere.url })
      expect(await postNotice(NOTICE, place(inbox.url))).toBe(`it answered ${status}; redirects are not followed`)
    }
    expect(elsewhere.letters).toEqual([])
  })

  it('reports an unreachable destination without its address or token', async () => {
    const url = `http://127.0.0.1:${await freePort()}/k3x9`
    expect(await postNotice(NOTICE, place(url, { token: 'tk_1' }))).toBe('it cannot be reached (ECONNREFUSED)')
    // What fetch complains of in its own words, with the header in them.
    expect(await postNotice(NOTICE, place(url, { token: 'tk_1\nx' }))).toBe('it cannot be reached')
  })

  it('is aborted by its signal', async () => {
    await using inbox = await openInbox()
    expect(await postNotice(NOTICE, place(inbox.url), AbortSignal.abort())).toBe('it cannot be reached')
    expect(inbox.letters).toEqual([])
  })
})
