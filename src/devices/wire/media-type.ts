/**
 * Media type: what a picture or a sound is, by its first bytes. Whatever else it says about itself is a stranger's word.
 */
const SIGNATURES: readonly (readonly [start: string, offset: number, type: string])[] = [
  ['\u00FF\u00D8\u00FF', 0, 'image/jpeg'],
  ['\u0089PNG\r\n\u001A\n', 0, 'image/png'],
  ['GIF87a', 0, 'image/gif'],
  ['GIF89a', 0, 'image/gif'],
  ['WEBP', 8, 'image/webp'],
  ['OggS', 0, 'audio/ogg'],
  ['WAVE', 8, 'audio/wav'],
  ['fLaC', 0, 'audio/flac'],
  ['ID3', 0, 'audio/mpeg'],
  ['\u00FF\u00FB', 0, 'audio/mpeg'],
]

/** `undefined` for everything that is not on the list, SVG and HTML among them. */
export function detectMediaType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return SIGNATURES.find(
    ([start, offset]) => head.startsWith(start, offset) && (offset === 0 || head.startsWith('RIFF')),
  )?.[2]
}
