/**
 * Photo uploads: one-time upload tokens, and the pictures that were uploaded with them.
 *
 *   issue ▸ token told to the device ▸ redeem (once) ▸ deposit ▸ collect (once)
 *
 * A picture is discarded if `collect` was called between its token and its last byte, because the call that wanted it
 * is over.
 *
 * Each device has one token and one picture at a time, in memory only and for a short time: a picture of somebody's
 * home must not be kept when its call is over.
 *
 * Pure, apart from the state it holds, the random tokens and the timers that end them.
 */
import { createHash, randomBytes } from 'node:crypto'
import { toBase64url } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { DeviceIdentity, UploadedPhoto, PhotoUploads } from '../session/fleet.ts'

export interface PhotoUploadServiceOptions {
  /** The URL to which a device that reached us at this address posts its pictures; `undefined` if it cannot. */
  readonly url: (localAddress: string | undefined) => string | undefined
  readonly maxTotalBytes?: number
  readonly lifetimeMs?: number
  readonly clock?: Clock
}

export interface PhotoUploadService extends PhotoUploads {
  /**
   * Returns the receiver for the picture, if the token belongs to this device. The token is used up, whatever becomes
   * of the upload.
   */
  readonly redeem: (identity: DeviceIdentity, token: string) => UploadedPhotoSink | undefined
  readonly heldBytes: () => number
}

/** Takes a picture and returns its receipt; `undefined` when no call waits for the picture any more. */
export type UploadedPhotoSink = (picture: Omit<UploadedPhoto, 'receipt'>) => string | undefined

interface Held {
  readonly picture: UploadedPhoto
  readonly sinceMs: number
  /** Cleared together with the picture, because the timer would keep the picture in memory. */
  readonly timer: NodeJS.Timeout
}

export function createPhotoUploadService(options: PhotoUploadServiceOptions): PhotoUploadService {
  const { url, maxTotalBytes = 64 * 1_048_576, lifetimeMs = 120_000, clock = systemClock } = options
  /** Device → hash of client and token, so that a memory dump contains no usable token. */
  const tokens = new Map<string, string>()
  /** Pictures, oldest first. */
  const pictures = new Map<string, Held>()
  /** Device → the upload that may still be deposited. */
  const uploads = new Map<string, UploadedPhotoSink>()
  const listeners: ((deviceId: string) => void)[] = []
  let held = 0
  let lastAddress = ''

  const drop = (deviceId: string): Held | undefined => {
    const found = pictures.get(deviceId)
    if (found === undefined) return undefined
    pictures.delete(deviceId)
    clearTimeout(found.timer)
    held -= found.picture.bytes.length
    return found
  }
  const tidy = () => {
    const oldest = clock.monotonic() - lifetimeMs
    for (const [deviceId, { sinceMs }] of pictures) if (sinceMs < oldest || held > maxTotalBytes) drop(deviceId)
  }

  return {
    issue: (identity, localAddress) => {
      const address = url(localAddress)
      if (address === undefined) return undefined
      // Equal addresses share one string object.
      if (address !== lastAddress) lastAddress = address
      const token = toBase64url(randomBytes(24))
      tokens.set(identity.deviceId, hashOf(identity, token))
      return { url: lastAddress, token }
    },
    redeem: (identity, token) => {
      const { deviceId } = identity
      if (tokens.get(deviceId) !== hashOf(identity, token)) return undefined
      tokens.delete(deviceId)
      const deposit: UploadedPhotoSink = (picture) => {
        if (uploads.get(deviceId) !== deposit) return undefined
        uploads.delete(deviceId)
        drop(deviceId)
        const timer = setTimeout(() => drop(deviceId), lifetimeMs)
        timer.unref()
        const receipt = toBase64url(randomBytes(9))
        pictures.set(deviceId, { picture: { ...picture, receipt }, sinceMs: clock.monotonic(), timer })
        held += picture.bytes.length
        tidy()
        return receipt
      }
      uploads.set(deviceId, deposit)
      for (const listener of listeners) listener(deviceId)
      return deposit
    },
    collect: (deviceId) => {
      uploads.delete(deviceId)
      tidy()
      return drop(deviceId)?.picture
    },
    onSpent: (listener) => void listeners.push(listener),
    heldBytes: () => held,
  }
}

function hashOf({ clientId }: DeviceIdentity, token: string): string {
  return createHash('sha256').update(`${clientId} ${token}`).digest('binary')
}
