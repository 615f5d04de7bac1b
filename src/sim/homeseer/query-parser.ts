/**
 * Query parser: parses the query of a URL as .NET does. HomeSeer's own clients send spellings that are no URL encoding
 * at all: a bare `%` in `label=Dim 20%` (its Node-RED node), `+` for a space (URLSearchParams).
 */

/** The first value of each name, names in lower case, because HomeSeer does not mind their case. */
export function parseQueryCaseInsensitively(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const part of text.split('&')) {
    const [name = '', ...rest] = part.split('=')
    const key = readPart(name).toLowerCase()
    if (key !== '' && !parameters.has(key)) parameters.set(key, readPart(rest.join('=')))
  }
  return parameters
}

/** An invalid pair after a `%` is kept unchanged, and bytes that are not UTF-8 become the replacement character. */
function readPart(text: string): string {
  const bytes: number[] = []
  const encoder = new TextEncoder()
  for (let at = 0; at < text.length;) {
    const code = /^%[0-9a-f]{2}/i.exec(text.slice(at, at + 3))?.[0]
    if (code !== undefined) {
      bytes.push(Number.parseInt(code.slice(1), 16))
      at += 3
      continue
    }
    const letter = String.fromCodePoint(text.codePointAt(at) ?? 0)
    bytes.push(...encoder.encode(letter === '+' ? ' ' : letter))
    at += letter.length
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}
