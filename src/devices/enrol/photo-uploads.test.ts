import { describe, expect, it } from 'vitest'
import { manualClock } from '../../../test/manual-clock.ts'
import { createPhotoUploadService } from './photo-uploads.ts'

const ONE = { deviceId: '02:00:00:00:00:01', clientId: '00000001-0000-4000-8000-000000000000' }
const TWO = { deviceId: '02:00:00:00:00:02', clientId: '00000002-0000-4000-8000-000000000000' }
const picture = (size = 4) => ({ bytes: new Uint8Array(size), mimeType: 'image/jpeg' })

function open(maxTotalBytes = 100) {
  const clock = manualClock()
  const photoUploads = createPhotoUploadService({ url: () => 'http://h:1/v', maxTotalBytes, lifetimeMs: 1_000, clock })
  const startUpload = (identity: typeof ONE) =>
    photoUploads.redeem(identity, photoUploads.issue(identity, undefined)?.token ?? '')
  return {
    clock,
    photoUploads,
    startUpload,
    post: (identity: typeof ONE, size = 4) => startUpload(identity)?.(picture(size)),
  }
}

describe('photo uploads', () => {
  it('accept a token once, from the device that it was issued to', () => {
    const { photoUploads } = open()
    const token = photoUploads.issue(ONE, undefined)?.token ?? ''
    expect(photoUploads.redeem(TWO, token)).toBeUndefined()
    expect(photoUploads.redeem({ ...ONE, clientId: TWO.clientId }, token)).toBeUndefined()
    expect(photoUploads.redeem(ONE, token)).toBeDefined()
    expect(photoUploads.redeem(ONE, token)).toBeUndefined()
  })

  it('void a token when a newer one is issued to the device', () => {
    const { photoUploads } = open()
    const older = photoUploads.issue(ONE, undefined)?.token ?? ''
    photoUploads.issue(ONE, undefined)
    expect(photoUploads.redeem(ONE, older)).toBeUndefined()
  })

  it('report when a token is spent', () => {
    const { photoUploads } = open()
    const spent: string[] = []
    photoUploads.onSpent((deviceId) => spent.push(deviceId))
    photoUploads.redeem(ONE, photoUploads.issue(ONE, undefined)?.token ?? '')
    expect(spent).toEqual([ONE.deviceId])
  })

  it('hand a photo once, to a call of the device that posted it', () => {
    const { photoUploads, post } = open()
    const receipt = post(ONE)
    expect(receipt).toMatch(/^[\w-]{12}$/)
    expect(photoUploads.collect(TWO.deviceId)).toBeUndefined()
    expect(photoUploads.collect(ONE.deviceId)).toEqual({ ...picture(), receipt })
    expect(photoUploads.collect(ONE.deviceId)).toBeUndefined()
    expect(photoUploads.heldBytes()).toBe(0)
  })

  it('reject a photo whose call ended before the upload was complete', () => {
    const { photoUploads, startUpload } = open()
    const deposit = startUpload(ONE)
    expect(photoUploads.collect(ONE.deviceId)).toBeUndefined()
    expect(deposit?.(picture())).toBeUndefined()
    expect([photoUploads.collect(ONE.deviceId), photoUploads.heldBytes()]).toEqual([undefined, 0])
  })

  it('hold photos for a limited time and up to a limit of bytes', () => {
    const { photoUploads, clock, post } = open(100)
    post(ONE, 60)
    post(TWO, 60)
    expect(photoUploads.heldBytes()).toBe(60)
    expect(photoUploads.collect(ONE.deviceId)).toBeUndefined()
    clock.advance(1_001)
    expect(photoUploads.collect(TWO.deviceId)).toBeUndefined()
    expect(photoUploads.heldBytes()).toBe(0)
  })

  it('drop a photo after its time although no call collects it', async () => {
    const photoUploads = createPhotoUploadService({ url: () => 'http://h:1/v', lifetimeMs: 20 })
    photoUploads.redeem(ONE, photoUploads.issue(ONE, undefined)?.token ?? '')?.(picture())
    expect(photoUploads.heldBytes()).toBe(4)
    await expect.poll(photoUploads.heldBytes).toBe(0)
  })

  it('issue no token to a device that has no URL to post to', () => {
    expect(createPhotoUploadService({ url: () => undefined }).issue(ONE, 'fe80::1')).toBeUndefined()
  })
})
