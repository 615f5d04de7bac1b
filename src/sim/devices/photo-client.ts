/**
 * Photo client: posts a picture to the vision address of the last `initialize`, as the firmware's camera does.
 */
import { toUtf8 } from '../../core/bytes.ts'
import { encodeMultipart } from '../../devices/wire/multipart.ts'
import type { SimulatedIdentity } from './identity.ts'
import { postHttpBody } from './ota-client.ts'
import type { FirmwareProfile } from './firmware-profile.ts'
import { FirmwareToolError } from './firmware-tool.ts'

const BOUNDARY = '----ESP32_CAMERA_BOUNDARY'
/** The firmware streams in small pieces, because it has no memory for a whole form. */
const CHUNK = 1_024

export interface PhotoUploadRequest {
  readonly vision: { readonly url: string; readonly token: string } | undefined
  readonly identity: SimulatedIdentity
  readonly profile: FirmwareProfile
  readonly question: string
  readonly jpeg: Uint8Array
}

/** The body of the answer becomes the tool's text, whatever it is. */
export async function postPhoto({ vision, identity, profile, question, jpeg }: PhotoUploadRequest): Promise<string> {
  if (vision === undefined || vision.url === '') throw new FirmwareToolError('Image explain URL is not set')
  const form = encodeMultipart(BOUNDARY, [
    { name: 'question', filename: undefined, contentType: undefined, bytes: toUtf8(question) },
    { name: 'file', filename: 'camera.jpg', contentType: 'image/jpeg', bytes: jpeg },
  ])
  const chunks: Uint8Array[] = []
  for (let at = 0; at < form.length; at += CHUNK) chunks.push(form.subarray(at, at + CHUNK))
  const answer = await postHttpBody(
    vision.url,
    [
      ['Device-Id', identity.deviceId],
      ['Client-Id', identity.clientId],
      ...(vision.token === '' ? [] : ([['Authorization', `Bearer ${vision.token}`]] as const)),
      ['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`],
      ['Transfer-Encoding', 'chunked'],
    ],
    chunks,
  )
  if (answer.status === 200) return answer.body
  // Before 2.0 a failed upload gave an ordinary result.
  if (profile.name === 'fw-1.9') return '{"success":false,"message":"Failed to upload photo"}'
  throw new FirmwareToolError('Failed to upload photo')
}
