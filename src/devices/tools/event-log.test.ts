import { describe, expect, it } from 'vitest'
import type { FleetEvent } from '../session/fleet.ts'
import { DeviceEventLog } from './event-log.ts'

const notification = (device: string, method: string): FleetEvent => ({
  kind: 'notification',
  device,
  atMs: 0,
  method,
  params: undefined,
})
const all = { after: 0, isWanted: () => true }

describe('the event log', () => {
  it('lists events after a sequence number, oldest first', () => {
    const log = new DeviceEventLog()
    log.add({ kind: 'online', device: 'a', atMs: 1, transport: 'mqtt' })
    log.add({ kind: 'missed', count: 3 })
    log.add(notification('b', 'x'))
    log.add({ kind: 'offline', device: 'a', atMs: 2, reason: 'gone' })
    expect(log.list({ ...all, after: 1 }).map(({ seq, device, kind }) => [seq, device, kind])).toEqual([
      [2, 'b', 'notification'],
      [3, 'a', 'offline'],
    ])
    expect(log.list({ after: 0, isWanted: (device) => device === 'b' })).toHaveLength(1)
    expect(log.lastSeq).toBe(3)
  })

  it('limits events per device, so that a chatty device displaces only its own', () => {
    const log = new DeviceEventLog()
    log.add(notification('quiet', 'once'))
    for (let number = 0; number < 1_000; number++) log.add(notification('loud', `n${number}`))
    const listed = log.list(all)
    expect(listed).toHaveLength(101)
    expect(listed[0]).toMatchObject({ device: 'quiet', details: { method: 'once' } })
    expect(listed.at(-1)).toMatchObject({ details: { method: 'n999' } })
  })

  it('holds at most 4,096 events, however many devices there are', () => {
    const log = new DeviceEventLog()
    for (let number = 0; number < 10_000; number++) log.add(notification(`device ${number}`, 'x'))
    expect(log.list(all)).toHaveLength(4_096)
  })

  it('omits the parameters of a notification that are too long', () => {
    const log = new DeviceEventLog()
    log.add({ kind: 'notification', device: 'a', atMs: 0, method: 'm', params: { x: 'y'.repeat(5_000) } })
    expect(log.list(all).map(({ details }) => details)).toEqual([{ method: 'm', params_omitted: '5008 characters' }])
  })
})
