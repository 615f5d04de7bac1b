/**
 * Vision endpoint: takes the picture a camera posts and lets the device go on at once.
 *
 *   POST /xiaozhi/vision/explain   Authorization: Bearer <token>   multipart: question, file
 *   200 {"success":true,"text":…,"receipt":…}  is the text of the tool's answer     anything else makes the tool fail
 *
 * The token is looked at before the body is, so that nobody without one can make us read megabytes. A device posts one
 * picture at a time: with a newer token it has given up the older post, and what had come of that is not kept.
 *
 * Pure, given the desk, apart from knowing which posts are under way.
 */
import type { OnRefused } from '../session/refusal.ts'
import { forwardPhoto } from '../voice/photo-forward-client.ts'
import type { VisionTarget } from '../voice/voice-relay-client.ts'
import { parseClientId, parseDeviceId } from '../wire/device-id.ts'
import { detectMediaType } from '../wire/media-type.ts'
import { decodeMultipart, multipartBoundary } from '../wire/multipart.ts'
import type { HttpHandler, HttpRequest } from './http-exchange.ts'
import { deviceJsonAnswer, deviceTextAnswer } from './http-exchange.ts'
import type { PhotoUploadCounter } from './photo-uploads.ts'

/** Cameras send 10 to 60 kB; nobody needs to send more than this. */
const MAX_UPLOAD = 2 * 1_048_576
const TOLD = 'The photo was taken and handed to the caller.'

/** Where a picture of this device goes that its voice backend asked for; `undefined` for everybody else's. */
export type PhotoTarget = (deviceId: string) => VisionTarget | undefined

export function visionHandler(desk: PhotoUploadCounter, onRefused: OnRefused, photoTarget?: PhotoTarget): HttpHandler {
  const posting = new Map<string, AbortController>()
  const bodyOf = async (deviceId: string, request: HttpRequest): Promise<Uint8Array | undefined> => {
    posting.get(deviceId)?.abort()
    const post = new AbortController()
    posting.set(deviceId, post)
    const body = await request.body(MAX_UPLOAD, post.signal)
    if (posting.get(deviceId) === post) posting.delete(deviceId)
    return body
  }
  return async (request) => {
    if (request.method !== 'POST') return deviceTextAnswer(405, 'POST')
    const { headers } = request
    const deviceId = parseDeviceId(headers['device-id'] ?? '')
    const clientId = parseClientId(headers['client-id'] ?? '')
    const token = /^Bearer\s+(\S{1,128})$/i.exec(headers['authorization'] ?? '')?.[1]
    const deposit =
      deviceId === undefined || clientId === undefined || token === undefined
        ? undefined
        : desk.redeem({ deviceId, clientId }, token)
    if (deposit === undefined || deviceId === undefined) {
      const why = token === undefined ? 'no-credentials' : 'wrong-picture-token'
      onRefused({ door: 'http', why, deviceId, remoteAddress: request.remoteAddress })
      return deviceJsonAnswer(401, { success: false, message: 'the token is not valid' })
    }
    const body = await bodyOf(deviceId, request)
    if (body === undefined)
      return deviceJsonAnswer(413, { success: false, message: 'the picture is too large or not wanted' })
    const target = photoTarget?.(deviceId)
    if (target !== undefined && clientId !== undefined) {
      const upload = { identity: { deviceId, clientId }, contentType: headers['content-type'] ?? '', body }
      const passed = await forwardPhoto(target, upload).catch(() => ({ status: 502, text: '' }))
      return { status: passed.status === 200 ? 200 : 502, contentType: 'application/json', body: passed.text }
    }
    const boundary = multipartBoundary(headers['content-type'])
    const parts = boundary === undefined ? undefined : decodeMultipart(boundary, body)
    const file = parts?.ok === true ? parts.value.find(({ name }) => name === 'file') : undefined
    const type = file === undefined ? undefined : detectMediaType(file.bytes)
    const mimeType = type?.startsWith('image/') === true ? type : undefined
    if (file === undefined || mimeType === undefined)
      return deviceJsonAnswer(415, { success: false, message: 'a JPEG, PNG, GIF or WebP picture is expected' })
    const receipt = deposit({ bytes: file.bytes, mimeType })
    if (receipt === undefined)
      return deviceJsonAnswer(410, { success: false, message: 'nobody waits for this picture any more' })
    return deviceJsonAnswer(200, { success: true, text: TOLD, receipt })
  }
}
