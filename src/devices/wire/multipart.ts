/**
 * Multipart: the one form a device posts, its photo. RFC 7578, as far as cameras use it.
 *
 *   --boundary CRLF headers CRLF CRLF bytes CRLF --boundary … --boundary-- CRLF
 */
import { concatBytes, toUtf8 } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export interface MultipartPart {
  readonly name: string
  readonly filename: string | undefined
  readonly contentType: string | undefined
  readonly bytes: Uint8Array
}

export type MultipartFault = { readonly kind: 'not-multipart'; readonly problem: string }

const MAX_PARTS = 8
const MAX_PART_HEADER = 1_024

export function parseMultipartBoundary(contentType: string | undefined): string | undefined {
  const found = /^multipart\/form-data\s*;.*?boundary=(?:"([^"]{1,70})"|([^;\s"]{1,70}))/i.exec(contentType ?? '')
  return found?.[1] ?? found?.[2]
}

export function decodeMultipart(boundary: string, body: Uint8Array): Result<readonly MultipartPart[], MultipartFault> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const delimiter = Buffer.from(`--${boundary}`)
  const parts: MultipartPart[] = []
  let at = bytes.indexOf(delimiter)
  while (at >= 0 && parts.length <= MAX_PARTS) {
    const start = at + delimiter.length
    if (bytes.subarray(start, start + 2).equals(Buffer.from('--'))) return ok(parts)
    const headEnd = bytes.indexOf('\r\n\r\n', start)
    if (headEnd < 0 || headEnd - start > MAX_PART_HEADER) break
    const end = bytes.indexOf(`\r\n--${boundary}`, headEnd + 4)
    if (end < 0) break
    parts.push(part(bytes.subarray(start, headEnd).toString('latin1'), bytes.subarray(headEnd + 4, end)))
    at = end + 2
  }
  return fail({ kind: 'not-multipart', problem: at < 0 ? 'the boundary does not occur' : 'the form is cut off' })
}

function part(head: string, bytes: Uint8Array): MultipartPart {
  return {
    name: /[;\s]name="([^"]*)"/i.exec(head)?.[1] ?? '',
    filename: /[;\s]filename="([^"]*)"/i.exec(head)?.[1],
    contentType: /^content-type:\s*([^\r\n;]+)/im.exec(head)?.[1]?.trim(),
    bytes: new Uint8Array(bytes),
  }
}

export function encodeMultipart(boundary: string, parts: readonly MultipartPart[]): Uint8Array {
  const pieces = parts.flatMap(({ name, filename, contentType, bytes }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${type}\r\n`
    return [toUtf8(head), bytes, toUtf8('\r\n')]
  })
  return concatBytes(...pieces, toUtf8(`--${boundary}--\r\n`))
}
