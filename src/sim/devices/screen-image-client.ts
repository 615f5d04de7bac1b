/**
 * Screen client: what a device sends from its screen, and what it fetches for it.
 */
import { get } from 'node:http'
import { encodeMultipart } from '../../devices/wire/multipart.ts'
import { postHttpBody } from './ota-client.ts'

const BOUNDARY = '----ESP32_SCREEN_SNAPSHOT_BOUNDARY'
const PATIENCE_MS = 10_000

/** Sent without credentials, to whatever server is at the URL. */
export async function uploadSnapshot(url: string, jpeg: Uint8Array): Promise<boolean> {
  const form = encodeMultipart(BOUNDARY, [
    { name: 'file', filename: 'screenshot.jpg', contentType: 'image/jpeg', bytes: jpeg },
  ])
  const headers = [['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`]] as const
  try {
    return (await postHttpBody(url, headers, [form])).status === 200
  } catch {
    return false
  }
}

/** The firmware must know the length of the download beforehand. */
export function downloadImageAndCountBytes(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const nothing = (): void => resolve(undefined)
    try {
      const asking = get(url, { timeout: PATIENCE_MS }, (answer) => {
        const announced = answer.headers['content-length']
        let bytes = 0
        answer.on('data', (chunk: Buffer) => (bytes += chunk.length))
        answer.on('end', () => resolve(answer.statusCode === 200 && announced !== undefined ? bytes : undefined))
        answer.on('error', nothing)
      })
      asking.on('timeout', () => asking.destroy())
      asking.on('error', nothing)
    } catch {
      nothing()
    }
  })
}
