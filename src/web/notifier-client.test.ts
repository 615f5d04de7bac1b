import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { APPROVER, assessedOffer, callOf, openHouse, around } from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { openInbox } from '../../test/notice-inbox.ts'
import type { Inbox } from '../../test/notice-inbox.ts'
import { notifyConfigSchema } from '../config/notify.ts'
import type { Logger } from '../core/logger.ts'
import { silentLogger } from '../core/logger.ts'
import { startNotifier } from './notifier-client.ts'
import type { RunningNotifier, NotifierDependencies } from './notifier-client.ts'

const QUICK = { restMs: 0, again: { firstMs: 1, maxMs: 1, factor: 1 } }
const HOUR_MS = 3_600_000

/** What a label quotes, an argument says. */
const lock = {
  ...assessedOffer('sensitive', ({ door }) => ({ label: `Door ${JSON.stringify(door)}` })),
  name: 'test.lock',
}

let house: GuardHouse & Disposable
let inbox: Inbox
let started: RunningNotifier[]
beforeEach(async () => {
  house = openHouse()
  inbox = await openInbox()
  started = []
})
afterEach(async () => {
  for (const { stop } of started) stop()
  house[Symbol.dispose]()
  await inbox.close()
})

function notify(places: readonly object[], more: Partial<NotifierDependencies> = {}): RunningNotifier {
  const notifying = startNotifier({
    config: { notify: notifyConfigSchema.parse(places), node: { name: 'home' } },
    approvals: house.guard.approvals,
    bus: { nodeName: () => undefined },
    environment: {},
    clock: house.clock,
    logger: silentLogger,
    pace: QUICK,
    ...more,
  })
  if (notifying === undefined) throw new Error('nobody is to be told')
  started.push(notifying)
  return notifying
}

const here = (path = '/'): object => ({ url: inbox.url + path, names: true })

/** The id of its question. */
async function ask(door: number): Promise<string> {
  const outcome = await around(house.guard, callOf(lock, { door }), lock, () => {
    throw new Error('it acted')
  })
  if (outcome.ok) throw new Error('it was let through')
  return outcome.fault.details?.['approval_id'] as string
}

/** Of each notice that arrived there, what it says waits. */
function receivedNotices(path = '/'): readonly (readonly string[])[] {
  return inbox.letters
    .filter(({ request }) => request === `POST ${path}`)
    .map(({ body }) => (JSON.parse(body) as { waiting: { what: string }[] }).waiting.map(({ what }) => what))
}

describe('notifications of waiting approvals', () => {
  it('are sent once to every destination, with all waiting requests', async () => {
    notify([here('/a'), here('/b')])
    await ask(1)
    await ask(1)
    await ask(2)
    await expect
      .poll(() => [receivedNotices('/a'), receivedNotices('/b')].map((notices) => notices.flat().at(-1)))
      .toEqual(['Door 2', 'Door 2'])
    await ask(3)
    await expect.poll(() => receivedNotices('/a').flat()).toEqual(['Door 1', 'Door 2', 'Door 3'])
    await expect.poll(() => receivedNotices('/b').flat()).toEqual(['Door 1', 'Door 2', 'Door 3'])
  })

  it('leave out a request that was decided before the notice was sent', async () => {
    inbox.answer(503)
    const { reporter } = notify([here()])
    const answered = await ask(1)
    await ask(2)
    await expect.poll(() => receivedNotices().at(-1)).toEqual(['Door 1', 'Door 2'])
    await house.guard.approvals.approve(answered, APPROVER)
    await expect.poll(() => receivedNotices().at(-1)).toEqual(['Door 2'])
    inbox.answer(200)
    await expect.poll(() => reporter.health().details['notices']).toBe(1)
    expect(receivedNotices().at(-1)).toEqual(['Door 2'])
  })

  it('leave out an expired request, even before the guard has swept it', async () => {
    notify([here('/late')], { clock: manualClock(house.clock.now() + HOUR_MS) })
    notify([here('/in-time')])
    await ask(1)
    await expect.poll(() => receivedNotices('/in-time')).toEqual([['Door 1']])
    expect(receivedNotices('/late')).toEqual([])
  })

  it('are retried until the destination accepts them, and the failure is logged once', async () => {
    const lines: string[] = []
    const say = (_: object, message: string): void => void lines.push(message)
    const logger: Logger = { ...silentLogger, info: say, warn: say }
    inbox.answer(503)
    const { reporter } = notify([here('/k3x9')], { logger })
    await ask(1)
    await expect.poll(() => inbox.letters.length).toBeGreaterThan(3)
    const host = new URL(inbox.url).host
    expect(reporter.health()).toEqual({
      status: 'degraded',
      details: {
        advice: `Notices about waiting calls do not reach ${host}: it answered 503. Try it with: hearthbus notify.`,
        places: 1,
        notices: 0,
      },
    })
    inbox.answer(200)
    await expect.poll(() => reporter.health()).toEqual({ status: 'ok', details: { places: 1, notices: 1 } })
    expect(lines).toEqual([
      'a notice was not accepted; it is tried again while the call waits',
      'notices are accepted again',
    ])
  })

  it('have a minimum interval per destination', async () => {
    notify([here('/resting')], { pace: { ...QUICK, restMs: HOUR_MS } })
    await ask(1)
    await expect.poll(() => receivedNotices('/resting')).toEqual([['Door 1']])
    notify([here('/other')])
    await ask(2)
    await expect.poll(() => receivedNotices('/other').flat()).toEqual(['Door 1', 'Door 2'])
    expect(receivedNotices('/resting')).toEqual([['Door 1']])
  })

  it('are sent after a restart for requests that still wait', async () => {
    const before = notify([here('/before')])
    await house.guard.approvals.deny(await ask(9), APPROVER, 'no')
    await ask(1)
    await expect.poll(() => receivedNotices('/before').flat()).toContain('Door 1')
    before.stop()
    notify([here('/after')], { approvals: house.afterPowerCut().guard.approvals })
    await expect.poll(() => receivedNotices('/after')).toEqual([['Door 1']])
  })

  it('are not sent any more after the notifier was stopped', async () => {
    const stopping = notify([here('/stopping')])
    await ask(1)
    stopping.stop()
    notify([here('/other')])
    await ask(2)
    await expect.poll(() => receivedNotices('/other').flat()).toEqual(['Door 1', 'Door 2'])
    expect(receivedNotices('/stopping')).toEqual([])
  })

  it('are not sent to a destination without its token, but to the others', async () => {
    const { reporter } = notify([{ ...here('/token'), tokenVariable: 'NTFY_TOKEN' }, here('/free')])
    await ask(1)
    await expect.poll(() => receivedNotices('/free')).toEqual([['Door 1']])
    expect(receivedNotices('/token')).toEqual([])
    expect(reporter.health()).toMatchObject({
      status: 'degraded',
      details: { places: 2, advice: expect.stringContaining('NTFY_TOKEN, which should hold its token, is not set') },
    })
  })

  it('are not started unless the owner configured a destination', () => {
    expect(() => notify([])).toThrow('nobody is to be told')
  })
})
