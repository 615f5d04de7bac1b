/**
 * Packet: small calls of one session that only read, or the answers to them, sent together. All calls of one moment
 * share one proof, one message through a broker and one write to a socket.
 *
 *   hbp2 call <key id> <number of the first> <how many> <proof> ⏎ [sent at, call, call …]
 *   hbp2 answer <key id> <proof> ⏎ [[number, status, body] …]
 *   hbp2 refusal <key id> <number of the first> <how many> <signature> ⏎ [status, body]      none of them was tried
 *   hbp2 cancel <key id> <number> <proof> ⏎
 *   hbp2 again <key id> <number> <proof> ⏎        requests the outcome ─▶ its answer, or one of
 *   hbp2 forgotten <key id> <number> ⏎    hbp2 unknown <key id> <number> <signature> ⏎        it never came
 *
 * A proof covers everything but itself: the text between `hbp2` and the proof, a line feed, and the rest.
 */
interface Named<Kind extends string> {
  readonly kind: Kind
  readonly keyId: string
}

/** Calls and refusals are numbered: a packet names the first number and the count. */
interface Spanning<Kind extends string> extends Named<Kind> {
  readonly first: number
  readonly count: number
}

interface About<Kind extends string> extends Named<Kind> {
  readonly number: number
}

export type PacketHeader =
  | Spanning<'call' | 'refusal'>
  | Named<'answer'>
  | About<'cancel' | 'again' | 'forgotten' | 'unknown'>

export interface Packet {
  readonly head: PacketHeader
  /** Empty for kinds that need none. */
  readonly proof: string
  /** The part of the header that the proof covers, before the payload. */
  readonly covered: string
  readonly payload: string
}

const MARK = 'hbp2 '
const FIRST_BYTE = 0x68
export const MAX_CALLS_PER_PACKET = 64
/** The limit for nodes that do not announce how many they accept. */
export const DEFAULT_CALLS_PER_PACKET = 32
/** Calls or answers are added up to this many bytes. A larger one is sent alone. */
export const MAX_BATCHED_BYTES = 65_536
/** The limit of a packet of calls; a call that does not fit is sent as a separate message. */
export const MAX_PACKET_CALL_BYTES = 16_384

/** The part of the header that its proof covers, with the line feed. */
export function formatPacketHeaderToSign(head: PacketHeader): string {
  const { kind, keyId } = head
  if ('first' in head) return `${kind} ${keyId} ${head.first} ${head.count}\n`
  return 'number' in head ? `${kind} ${keyId} ${head.number}\n` : `${kind} ${keyId}\n`
}

/** Returns text, which the sender encodes as UTF-8. `covered` is the result of `formatPacketHeaderToSign`. */
export function encodePacket(covered: string, proof = '', payload = ''): string {
  return `${MARK}${covered.slice(0, -1)}${proof === '' ? '' : ` ${proof}`}\n${payload}`
}

/** A quick check: other messages on the same subject begin with a brace. */
export function hasPacketMarker(bytes: Uint8Array): boolean {
  return bytes[0] === FIRST_BYTE
}

/**
 * Matches the part that a proof covers, in it kind, key id and up to two numbers; then the proof. Each number has one
 * spelling.
 */
const HEAD = /^hbp2 ((\w{1,16}) ([\w-]{1,64})(?: ([1-9]\d{0,14}))?(?: ([1-9]\d{0,14}))?)(?: ([a-z][!-~]{0,255})?)?\n/

/**
 * Returns `undefined` for text that is not a packet. The payload is not parsed, because it is not authenticated yet.
 */
export function decodePacket(text: string): Packet | undefined {
  const words = HEAD.exec(text)
  if (words === null) return undefined
  const [line, covered = '', kind = '', keyId = '', one, two, proof = ''] = words
  const head = headOf(
    kind,
    keyId,
    one === undefined ? undefined : Number(one),
    two === undefined ? undefined : Number(two),
  )
  return head && { head, proof, covered: `${covered}\n`, payload: text.slice(line.length) }
}

function headOf(
  kind: string,
  keyId: string,
  first: number | undefined,
  count: number | undefined,
): PacketHeader | undefined {
  switch (kind) {
    case 'call':
    case 'refusal':
      if (first === undefined || count === undefined || count > MAX_CALLS_PER_PACKET) return undefined
      return { kind, keyId, first, count }
    case 'answer':
      return first === undefined ? { kind, keyId } : undefined
    case 'cancel':
    case 'again':
    case 'forgotten':
    case 'unknown':
      return first === undefined || count !== undefined ? undefined : { kind, keyId, number: first }
    default:
      return undefined
  }
}
