/**
 * Photo forward: posts a picture that a voice backend requested to the backend's address, as the device would have
 * done. The backend's answer becomes the text of the tool's answer.
 */
import { readResponseText } from '../../toolbox/response-body.ts'
import type { DeviceIdentity } from '../session/fleet.ts'
import type { BackendVisionTarget } from './voice-relay-client.ts'

export interface ForwardedPhoto {
  readonly identity: DeviceIdentity
  readonly contentType: string
  readonly body: Uint8Array
}

/** The device itself waits for 30 s. */
const TIMEOUT_MS = 25_000
const MAX_ANSWER_BYTES = 32_768

export async function forwardPhotoToBackend(
  { url, token }: BackendVisionTarget,
  { identity, contentType, body }: ForwardedPhoto,
): Promise<{ readonly status: number; readonly text: string }> {
  if (!/^https?:\/\//.test(url)) return { status: 502, text: '' }
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      'Content-Type': contentType,
      'Device-Id': identity.deviceId,
      'Client-Id': identity.clientId,
      ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: Buffer.from(body),
  })
  const text = await readResponseText(response, MAX_ANSWER_BYTES)
  return text === undefined ? { status: 502, text: '' } : { status: response.status, text }
}
