/**
 * Response body: what a server answered, or a client sent, read no further than a limit, so that a sender without end
 * is cut off.
 */

/** `undefined` when the body is larger than `maxBytes`. Rejects when the sender breaks off. */
export function readResponseBytes(
  response: Pick<Response | Request, 'body'>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  return readBoundedBytes(response.body ?? [], maxBytes)
}

/** The same of a body that is a stream of Node's. */
export async function readBoundedBytes(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    // Leaving the loop cancels the body, which closes the connection.
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

/** The same as `readResponseBytes`, as UTF-8 text. */
export async function readResponseText(response: Response, maxBytes: number): Promise<string | undefined> {
  const bytes = await readResponseBytes(response, maxBytes)
  return bytes && new TextDecoder().decode(bytes)
}
