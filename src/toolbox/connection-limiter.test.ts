import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ConnectionLimiter } from './connection-limiter.ts'

class FakeConnection extends EventEmitter {
  isOpen = true

  destroy(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.emit('close')
  }
}

function connections(number: number): FakeConnection[] {
  return Array.from({ length: number }, () => new FakeConnection())
}

function whichAreOpen(all: readonly FakeConnection[]): readonly boolean[] {
  return all.map(({ isOpen }) => isOpen)
}

describe('connection limiter', () => {
  it('closes the longest silent unauthenticated connection for a newcomer', () => {
    const limiter = new ConnectionLimiter<FakeConnection>({ maxUnauthenticated: 3 })
    const all = connections(4)
    for (const connection of all.slice(0, 3)) limiter.accept(connection)
    limiter.recordActivity(all[0]!)
    limiter.accept(all[3]!)
    expect(whichAreOpen(all)).toEqual([true, false, true, true])
    expect(limiter.unauthenticated).toBe(3)
  })

  it('keeps connections with a request in progress, and closes the newcomer if all have one', () => {
    const limiter = new ConnectionLimiter<FakeConnection>({ maxUnauthenticated: 2 })
    const all = connections(4)
    let isBusy = true
    for (const connection of all.slice(0, 2)) {
      limiter.accept(connection)
      limiter.recordActivity(connection, () => isBusy)
    }
    limiter.accept(all[2]!)
    expect(whichAreOpen(all.slice(0, 3))).toEqual([true, true, false])
    isBusy = false
    limiter.accept(all[3]!)
    expect(whichAreOpen(all)).toEqual([false, true, false, true])
  })

  it('keeps authenticated connections whatever unauthenticated ones do, and limits each principal', () => {
    const limiter = new ConnectionLimiter<FakeConnection>({ maxUnauthenticated: 2, maxPerPrincipal: 2 })
    const members = connections(4)
    for (const [index, connection] of members.entries()) {
      limiter.accept(connection)
      limiter.authenticate(connection, index === 3 ? 'b' : 'a')
    }
    const unauthenticated = connections(256)
    for (const connection of unauthenticated) limiter.accept(connection)
    expect(whichAreOpen(members)).toEqual([true, true, false, true])
    expect(unauthenticated.filter(({ isOpen }) => isOpen)).toEqual(unauthenticated.slice(-2))
    expect(members.map((member) => limiter.isUnauthenticated(member))).toEqual([false, false, false, false])
  })

  it('reuses the place of a closed connection', () => {
    const limiter = new ConnectionLimiter<FakeConnection>({ maxUnauthenticated: 9, maxPerPrincipal: 1 })
    const [first, second] = connections(2) as [FakeConnection, FakeConnection]
    limiter.authenticate(first, 'a')
    first.destroy()
    limiter.authenticate(second, 'a')
    expect(second.isOpen).toBe(true)
    limiter.recordActivity(first)
    expect(limiter.unauthenticated).toBe(0)
  })
})
