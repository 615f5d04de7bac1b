/**
 * Vision endpoint: takes the picture a camera posts and lets the device go on at once.
 *
 *   POST /xiaozhi/vision/explain   Authorization: Bearer <token>   multipart: question, file
 *   200 {"success":true,"text":…,"receipt":…}  is the text of the tool's answer     anything else makes the tool fail
 *
 * The token is checked before the body is read, so that a client without one cannot make us read megabytes. A device
 * posts one picture at a time: when it uses a newer token, it has abandoned the older post, whose data is discarded.
 *
 * Pure, given the uploads, apart from the list of running posts.
 */
import type { DeviceAdmissionRefusalListener } from '../session/device-admission-refusal.ts'
import { forwardPhotoToBackend } from '../voice/photo-forward-client.ts'
import type { BackendVisionTarget } from '../voice/voice-relay-client.ts'
import { parseClientUuid, parseDeviceId } from '../wire/device-id.ts'
import { detectMedia } from '../wire/media-type-detection.ts'
import { decodeMultipart, parseMultipartBoundary } from '../wire/multipart.ts'
import type { DeviceHttpHandler, DeviceHttpRequest } from './http-exchange.ts'
import { createDeviceJsonAnswer, createDeviceTextAnswer } from './http-exchange.ts'
import type { PhotoUploadService } from './photo-uploads.ts'

/** Cameras send 10 to 60 kB; this limit is far above. */
const MAX_UPLOAD = 2 * 1_048_576
const ACCEPTED_TEXT = 'The photo was taken and handed to the caller.'

/** Where a picture is sent that this device's voice backend requested; `undefined` for any other picture. */
export type BackendVisionTargetLookup = (deviceId: string) => BackendVisionTarget | undefined

export function createVisionHandler(
  photoUploads: PhotoUploadService,
  onRefused: DeviceAdmissionRefusalListener,
  photoTarget?: BackendVisionTargetLookup,
): DeviceHttpHandler {
  const posting = new Map<string, AbortController>()
  const bodyOf = async (deviceId: string, request: DeviceHttpRequest): Promise<Uint8Array | undefined> => {
    posting.get(deviceId)?.abort()
    const post = new AbortController()
    posting.set(deviceId, post)
    const body = await request.body(MAX_UPLOAD, post.signal)
    if (posting.get(deviceId) === post) posting.delete(deviceId)
    return body
  }
  return async (request) => {
    if (request.method !== 'POST') return createDeviceTextAnswer(405, 'POST')
    const { headers } = request
    const deviceId = parseDeviceId(headers['device-id'] ?? '')
    const clientId = parseClientUuid(headers['client-id'] ?? '')
    const token = /^Bearer\s+(\S{1,128})$/i.exec(headers['authorization'] ?? '')?.[1]
    const deposit =
      deviceId === undefined || clientId === undefined || token === undefined
        ? undefined
        : photoUploads.redeem({ deviceId, clientId }, token)
    if (deposit === undefined || deviceId === undefined) {
      const why = token === undefined ? 'no-credentials' : 'wrong-picture-token'
      onRefused({ door: 'http', why, deviceId, remoteAddress: request.remoteAddress })
      return createDeviceJsonAnswer(401, { success: false, message: 'the token is not valid' })
    }
    const body = await bodyOf(deviceId, request)
    if (body === undefined)
      return createDeviceJsonAnswer(413, { success: false, message: 'the picture is too large or not wanted' })
    const target = photoTarget?.(deviceId)
    if (target !== undefined && clientId !== undefined) {
      const upload = { identity: { deviceId, clientId }, contentType: headers['content-type'] ?? '', body }
      const passed = await forwardPhotoToBackend(target, upload).catch(() => ({ status: 502, text: '' }))
      return { status: passed.status === 200 ? 200 : 502, contentType: 'application/json', body: passed.text }
    }
    const boundary = parseMultipartBoundary(headers['content-type'])
    const parts = boundary === undefined ? undefined : decodeMultipart(boundary, body)
    const file = parts?.ok === true ? parts.value.find(({ name }) => name === 'file') : undefined
    const picture = file === undefined ? undefined : detectMedia(file.bytes)
    if (picture?.mimeType.startsWith('image/') !== true)
      return createDeviceJsonAnswer(415, {
        success: false,
        message: 'a whole JPEG, PNG, GIF or WebP picture is expected',
      })
    const receipt = deposit(picture)
    if (receipt === undefined)
      return createDeviceJsonAnswer(410, { success: false, message: 'no call waits for this picture any more' })
    return createDeviceJsonAnswer(200, { success: true, text: ACCEPTED_TEXT, receipt })
  }
}
