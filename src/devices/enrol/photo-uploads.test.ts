import { describe, expect, it } from 'vitest'
import { manualClock } from '../../../test/manual-clock.ts'
import { createPhotoUploads } from './photo-uploads.ts'

const ONE = { deviceId: '02:00:00:00:00:01', clientId: '00000001-0000-4000-8000-000000000000' }
const TWO = { deviceId: '02:00:00:00:00:02', clientId: '00000002-0000-4000-8000-000000000000' }
const picture = (size = 4) => ({ bytes: new Uint8Array(size), mimeType: 'image/jpeg' })

function open(maxTotalBytes = 100) {
  const clock = manualClock()
  const desk = createPhotoUploads({ url: () => 'http://h:1/v', maxTotalBytes, keepMs: 1_000, clock })
  const startUpload = (identity: typeof ONE) => desk.redeem(identity, desk.issue(identity, undefined)?.token ?? '')
  return { clock, desk, startUpload, post: (identity: typeof ONE, size = 4) => startUpload(identity)?.(picture(size)) }
}

describe('vision desk', () => {
  it('takes a token once, from the device it was made for', () => {
    const { desk } = open()
    const token = desk.issue(ONE, undefined)?.token ?? ''
    expect(desk.redeem(TWO, token)).toBeUndefined()
    expect(desk.redeem({ ...ONE, clientId: TWO.clientId }, token)).toBeUndefined()
    expect(desk.redeem(ONE, token)).toBeDefined()
    expect(desk.redeem(ONE, token)).toBeUndefined()
  })

  it('voids a token when a new one is made', () => {
    const { desk } = open()
    const older = desk.issue(ONE, undefined)?.token ?? ''
    desk.issue(ONE, undefined)
    expect(desk.redeem(ONE, older)).toBeUndefined()
  })

  it('says when a token is spent', () => {
    const { desk } = open()
    const spent: string[] = []
    desk.onSpent((deviceId) => spent.push(deviceId))
    desk.redeem(ONE, desk.issue(ONE, undefined)?.token ?? '')
    expect(spent).toEqual([ONE.deviceId])
  })

  it('gives a picture up once', () => {
    const { desk, post } = open()
    const receipt = post(ONE)
    expect(receipt).toMatch(/^[\w-]{12}$/)
    expect(desk.collect(TWO.deviceId)).toBeUndefined()
    expect(desk.collect(ONE.deviceId)).toEqual({ ...picture(), receipt })
    expect(desk.collect(ONE.deviceId)).toBeUndefined()
    expect(desk.heldBytes()).toBe(0)
  })

  it('takes no picture whose call was over before its last byte', () => {
    const { desk, startUpload } = open()
    const deposit = startUpload(ONE)
    expect(desk.collect(ONE.deviceId)).toBeUndefined()
    expect(deposit?.(picture())).toBeUndefined()
    expect([desk.collect(ONE.deviceId), desk.heldBytes()]).toEqual([undefined, 0])
  })

  it('keeps pictures neither long nor without bound', () => {
    const { desk, clock, post } = open(100)
    post(ONE, 60)
    post(TWO, 60)
    expect(desk.heldBytes()).toBe(60)
    expect(desk.collect(ONE.deviceId)).toBeUndefined()
    clock.advance(1_001)
    expect(desk.collect(TWO.deviceId)).toBeUndefined()
    expect(desk.heldBytes()).toBe(0)
  })

  it('lets go of a picture in time although nobody comes', async () => {
    const desk = createPhotoUploads({ url: () => 'http://h:1/v', keepMs: 20 })
    desk.redeem(ONE, desk.issue(ONE, undefined)?.token ?? '')?.(picture())
    expect(desk.heldBytes()).toBe(4)
    await expect.poll(desk.heldBytes).toBe(0)
  })

  it('issues nothing to a device that could not reach it', () => {
    expect(createPhotoUploads({ url: () => undefined }).issue(ONE, 'fe80::1')).toBeUndefined()
  })
})
