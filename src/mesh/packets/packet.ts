/**
 * Packet: small calls that only read, of one session, or the answers to them, that travel together. One proof, one
 * message through a broker and one write to a socket serve all that were made in the same moment.
 *
 *   hbp2 call <key id> <number of the first> <how many> <proof> ⏎ [sent at, call, call …]
 *   hbp2 answer <key id> <proof> ⏎ [[number, status, body] …]
 *   hbp2 refusal <key id> <number of the first> <how many> <signature> ⏎ [status, body]      none of them was tried
 *   hbp2 cancel <key id> <number> <proof> ⏎
 *   hbp2 again <key id> <number> <proof> ⏎        what became of it? ─▶ its answer, or one of
 *   hbp2 forgotten <key id> <number> ⏎    hbp2 unknown <key id> <number> <signature> ⏎        it never came
 *
 * A proof covers everything but itself: the words between `hbp2` and it, a line feed, and the rest.
 */
interface Named<Kind extends string> {
  readonly kind: Kind
  readonly keyId: string
}

/** Calls and refusals are numbered through: a packet names the first and how many. */
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
  /** Empty for those that need none. */
  readonly proof: string
  /** The words that the proof covers, before the payload. */
  readonly covered: string
  readonly payload: string
}

const MARK = 'hbp2 '
const FIRST_BYTE = 0x68
export const MAX_CALLS_PER_PACKET = 64
/** What nodes read that do not say how many they read. */
export const DEFAULT_CALLS_PER_PACKET = 32
/** Bytes of calls, or of answers, up to which more are added. One that is larger travels alone. */
export const MAX_BATCHED_BYTES = 65_536
/** No packet of calls is larger: what does not fit into one goes as a message of its own. */
export const MAX_PACKET_CALL_BYTES = 16_384

/** The words of a head that its proof covers, with the line feed. */
export function encodeProvenPacketHeader(head: PacketHeader): string {
  const { kind, keyId } = head
  if ('first' in head) return `${kind} ${keyId} ${head.first} ${head.count}\n`
  return 'number' in head ? `${kind} ${keyId} ${head.number}\n` : `${kind} ${keyId}\n`
}

/** As a text, which whoever sends it writes down as UTF-8. `covered` is what `encodeProvenPacketHeader` made. */
export function encodePacket(covered: string, proof = '', payload = ''): string {
  return `${MARK}${covered.slice(0, -1)}${proof === '' ? '' : ` ${proof}`}\n${payload}`
}

/** A glance: other messages on the same subject begin with a brace. */
export function isPacket(bytes: Uint8Array): boolean {
  return bytes[0] === FIRST_BYTE
}

/** What a proof covers, in it kind, key id and up to two numbers; then the proof. Numbers have one spelling each. */
const HEAD = /^hbp2 ((\w{1,16}) ([\w-]{1,64})(?: ([1-9]\d{0,14}))?(?: ([1-9]\d{0,14}))?)(?: ([a-z][!-~]{0,255})?)?\n/

/** `undefined` for whatever is no packet. The payload is not looked at: nobody has vouched for it yet. */
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
