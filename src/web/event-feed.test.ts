import { describe, expect, it } from 'vitest'
import { createEventFeed } from './event-feed.ts'

function publishLedger(feed: ReturnType<typeof createEventFeed>, sizes: readonly number[]): void {
  for (const size of sizes) feed.publish('ledger', { size, state: 'sound', checkpointSize: null })
}

const sizesOf = (events: readonly { readonly data: string }[] | undefined): readonly number[] | undefined =>
  events?.map(({ data }) => (JSON.parse(data) as { size: number }).size)

describe('event feed', () => {
  it('continues after the last received event', () => {
    const feed = createEventFeed('run')
    publishLedger(feed, [1, 2, 3])
    expect(sizesOf(feed.since('run-1'))).toEqual([2, 3])
    expect(sizesOf(feed.since('run-3'))).toEqual([])
    expect(sizesOf(feed.since('run-0'))).toEqual([1, 2, 3])
  })

  it('does not continue from an event that it no longer holds or never had', () => {
    const feed = createEventFeed('run', 2)
    publishLedger(feed, [1, 2, 3])
    expect(feed.since('run-0')).toBeUndefined()
    expect(sizesOf(feed.since('run-1'))).toEqual([2, 3])
    for (const strange of ['other-1', 'run-4', 'run-', 'run', '', '-1', 'run-1e3', 'run--1'])
      expect(feed.since(strange)).toBeUndefined()
  })

  it('delivers events to a subscriber until it unsubscribes', () => {
    const feed = createEventFeed('run')
    const received: string[] = []
    const leave = feed.subscribe(({ id }) => received.push(id))
    publishLedger(feed, [1])
    leave()
    publishLedger(feed, [2])
    expect([received, feed.latestId()]).toEqual([['run-1'], 'run-2'])
  })
})
