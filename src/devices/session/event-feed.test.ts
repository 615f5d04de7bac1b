import { describe, expect, it } from 'vitest'
import { DeviceEventBroadcaster } from './event-feed.ts'
import type { FleetEvent } from './fleet.ts'

const event = (device: string): FleetEvent => ({ kind: 'forgotten', device, atMs: 0 })

describe('event feed', () => {
  it('delivers every event to every reader, in order', async () => {
    const feed = new DeviceEventBroadcaster()
    const readers = [feed.subscribe(), feed.subscribe()]
    feed.publish(event('a'))
    feed.publish(event('b'))
    for (const reader of readers) {
      expect(await reader.next()).toEqual({ done: false, value: event('a') })
      expect(await reader.next()).toEqual({ done: false, value: event('b') })
    }
  })

  it('wakes a waiting reader when an event is published', async () => {
    const feed = new DeviceEventBroadcaster()
    const next = feed.subscribe().next()
    feed.publish(event('a'))
    expect(await next).toEqual({ done: false, value: event('a') })
  })

  it('tells a slow reader how many events it missed, and keeps the newest', async () => {
    const feed = new DeviceEventBroadcaster()
    const reader = feed.subscribe()
    for (let each = 0; each < 1_030; each++) feed.publish(event(String(each)))
    expect(await reader.next()).toEqual({ done: false, value: { kind: 'missed', count: 6 } })
    expect(await reader.next()).toEqual({ done: false, value: event('6') })
  })

  it('ends when its signal aborts, when the reader returns, and when the feed closes', async () => {
    const feed = new DeviceEventBroadcaster()
    const abort = new AbortController()
    const [aborted, closed, returned] = [feed.subscribe(abort.signal), feed.subscribe(), feed.subscribe()]
    const waiting = aborted.next()
    abort.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await returned.return?.()
    expect(await returned.next()).toEqual({ done: true, value: undefined })
    feed.close()
    expect(await closed.next()).toEqual({ done: true, value: undefined })
    expect(await feed.subscribe(AbortSignal.abort()).next()).toEqual({ done: true, value: undefined })
  })
})
